// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.explain;

import io.fairlead.controller.agents.LiveConnections;
import io.fairlead.controller.api.Answer;
import io.fairlead.controller.api.Request;
import io.fairlead.controller.api.Resource;
import io.fairlead.controller.api.Routes;
import io.fairlead.controller.hold.HoldView;
import io.fairlead.controller.plane.Plane;
import java.time.InstantSource;

/** Which backend owns which buckets, and where the packets of one connection go. */
public record ExplainRoutes(Plane plane, LiveConnections live, InstantSource clock)
    implements Resource {
  @Override
  public void register(Routes routes) {
    routes.ofService("getRing", (request, service) -> RingView.of(service.image()));
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
    long now = clock.instant().getEpochSecond();
    return Answer.tagged(
        request,
        plane.read(request.service(), service -> Explanation.of(service.image(), flow, live, now)));
  }

  private Answer holds(Request request) {
    long now = clock.instant().getEpochSecond();
    return Answer.tagged(
        request, plane.read(request.service(), service -> HoldView.of(service.image(), live, now)));
  }
}
