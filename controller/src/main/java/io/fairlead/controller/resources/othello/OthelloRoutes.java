// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.Optional;
import java.util.function.Function;

/**
 * How services steered by othello stand.
 *
 * @param statuses by service, as the leader knows it
 */
public record OthelloRoutes(Plane plane, Function<String, Optional<OthelloStatus>> statuses)
    implements Resource {
  @Override
  public void register(Routes routes) {
    routes.read(
        "getOthello",
        request -> {
          String steering =
              plane.read(request.service(), service -> service.image().config().steering().word());
          return Answer.tagged(
              request,
              statuses
                  .apply(request.service())
                  .orElseThrow(
                      () ->
                          Refusal.missing(
                              "name",
                              request.service() + " with steering " + steering,
                              "a service with steering othello")));
        });
  }
}
