// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.overview;

import io.fairlead.controller.agents.Agents;
import io.fairlead.controller.api.Answer;
import io.fairlead.controller.api.Resource;
import io.fairlead.controller.api.Routes;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.plane.Plane;
import io.fairlead.controller.probes.HealthView;
import java.util.List;
import java.util.function.Supplier;

/** Services, muxes and servers in numbers, and what is wrong. */
public record OverviewRoutes(
    Plane plane, Supplier<List<MuxView>> muxes, Agents agents, Supplier<List<HealthView>> health)
    implements Resource {
  @Override
  public void register(Routes routes) {
    routes.read(
        "getOverview",
        request ->
            Answer.tagged(
                request, Overview.of(plane.services(), muxes.get(), agents.list(), health.get())));
  }
}
