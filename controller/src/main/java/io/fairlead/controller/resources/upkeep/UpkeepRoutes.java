// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.upkeep;

import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A service's upkeep: what it is like, and starting and stopping it. */
public record UpkeepRoutes(Upkeeps upkeeps) implements Resource {
  private static final double DEFAULT_IMBALANCE = 1.05;
  private static final double DEFAULT_RULES = 1.2;
  private static final int DEFAULT_MOVES = 10;

  private record Load(int id, double load) {}

  /** The body of both requests to start; absent fields get their defaults. */
  private record Body(
      Optional<Double> target, Optional<Integer> maxMoves, Optional<List<Load>> loads) {}

  @Override
  public void register(Routes routes) {
    routes.ofService("getUpkeep", (request, service) -> UpkeepView.of(service.image()));
    routes.write("rebalance", request -> start(request, Kind.REBALANCE));
    routes.write("defragment", request -> start(request, Kind.DEFRAGMENT));
    routes.write(
        "stopUpkeep",
        request -> Write.of(options -> upkeeps.stopUpkeep(request.service(), options)));
  }

  private Write start(Request request, Kind kind) {
    Body body = request.body(Body.class);
    UpkeepOrder order =
        new UpkeepOrder(
            kind,
            body.target().orElse(kind == Kind.REBALANCE ? DEFAULT_IMBALANCE : DEFAULT_RULES),
            body.maxMoves().orElse(DEFAULT_MOVES),
            loads(body.loads().orElse(List.of())));
    return Write.of(options -> upkeeps.startUpkeep(request.service(), order, options));
  }

  private static Map<Integer, Double> loads(List<Load> list) {
    Map<Integer, Double> loads = new HashMap<>();
    for (Load each : list) {
      if (loads.put(each.id(), each.load()) != null) {
        throw Refusal.invalid("loads.id", each.id(), "each backend once in a measurement");
      }
    }
    return loads;
  }
}
