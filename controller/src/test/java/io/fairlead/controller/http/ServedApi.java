// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.leader.MemoryPlane;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A test of the API on a port of its own, with a control plane in memory. */
public abstract class ServedApi {
  protected final MemoryPlane plane = new MemoryPlane();
  protected ApiServer server;
  protected ApiClient client;

  @BeforeEach
  final void serve() throws IOException {
    server =
        ApiServer.open(
            new Endpoint("127.0.0.1", 0),
            plane,
            plane.resources(),
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT));
    client = new ApiClient(server.listen());
  }

  /** Where the API is. */
  protected final String url() {
    return "http://" + server.listen();
  }

  @AfterEach
  final void end() {
    server.close();
  }
}
