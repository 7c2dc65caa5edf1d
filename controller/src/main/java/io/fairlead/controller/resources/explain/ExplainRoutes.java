// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.hold.HoldView;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.store.repository.StoredService;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/** Which backend owns which buckets, and where the packets of one connection go. */
public record ExplainRoutes(
    Plane plane,
    Supplier<? extends LiveConnections> live,
    Function<StoredService, Optional<CommittedArrays>> arrays,
    Supplier<SettledServices> settled,
    InstantSource clock)
    implements Resource {
  @Override
  public void register(Routes routes) {
    routes.ofService("getRing", (request, service) -> RingView.of(service.image()));
    routes.read("getRingCells", this::cells);
    routes.read("explain", this::explain);
    routes.read("getHolds", this::holds);
  }

  private Answer explain(Request request) {
    Flow flow =
        new Flow(
            request.query("protocol"),
            request.query("source"),
            request.queryNumber("sourcePort"),
            request.query("destination"),
            request.queryNumber("destinationPort"));
    Instant now = clock.instant();
    return Answer.tagged(
        request,
        plane.read(
            request.service(),
            service ->
                Explanation.of(
                    service.image(),
                    arrays.apply(service),
                    flow,
                    live.get(),
                    settled.get().seen(service.image()),
                    now)));
  }

  private Answer cells(Request request) {
    Instant now = clock.instant();
    return Answer.tagged(
        request,
        plane.read(
            request.service(),
            service ->
                RingCells.of(
                    service.image(),
                    request.queryNumber("start", 0),
                    request.queryNumber("count", 0),
                    request.queryNumber("cells", RingCells.DEFAULT),
                    now)));
  }

  private Answer holds(Request request) {
    Instant now = clock.instant();
    return Answer.tagged(
        request,
        plane.read(
            request.service(),
            service ->
                HoldView.of(
                    service.image(), live.get(), settled.get().seen(service.image()), now)));
  }
}
