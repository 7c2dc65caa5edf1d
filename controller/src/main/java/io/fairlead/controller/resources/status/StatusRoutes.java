// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.status;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.plane.Plane;
import io.vertx.core.buffer.Buffer;

/** For load balancers and for Prometheus. */
public record StatusRoutes(Plane plane) implements Resource {
  private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";
  private static final int UNAVAILABLE = 503;

  @Override
  public void register(Routes routes) {
    routes.immediate("getHealth", this::health);
    routes.read(
        "getMetrics", request -> Answer.ok(PROMETHEUS, Buffer.buffer(routes.metrics().scrape())));
  }

  /**
   * 503, with the same body, while reads are not served. Everyone may ask, so it costs neither a
   * request to ZooKeeper nor a worker thread.
   */
  private Answer health() {
    Answer health = Answer.ok(plane.health());
    return plane.isServing() ? health : health.with(UNAVAILABLE);
  }
}
