// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import io.fairlead.controller.resources.plane.Plane;
import java.util.function.Supplier;

/** The staged change of a service: how it stands, going on and rolling back. */
public record StageRoutes(Plane plane, Stages stages, Supplier<StageGate> gate)
    implements Resource {
  @Override
  public void register(Routes routes) {
    routes.read(
        "getStage",
        request ->
            Answer.tagged(
                request,
                plane.read(
                    request.service(), service -> StageStatus.of(service.image(), gate.get()))));
    routes.write(
        "advanceStage", request -> Write.of(options -> stages.advance(request.service(), options)));
    routes.write(
        "rollBackStage",
        request -> Write.of(options -> stages.rollBack(request.service(), options)));
  }
}
