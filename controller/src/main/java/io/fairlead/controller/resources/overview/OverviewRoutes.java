// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.overview;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.agents.Agents;
import io.fairlead.controller.resources.health.HealthView;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.plane.Plane;
import java.util.List;
import java.util.function.Supplier;

/** Services, muxes and servers in numbers, and what is wrong. */
public record OverviewRoutes(
    Plane plane,
    Supplier<List<MuxView>> muxes,
    Supplier<Agents> agents,
    Supplier<List<HealthView>> health)
    implements Resource {
  @Override
  public void register(Routes routes) {
    routes.read(
        "getOverview",
        request ->
            Answer.tagged(
                request,
                Overview.of(plane.services(), muxes.get(), agents.get().list(), health.get())));
  }
}
