// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.http.HttpConnection;
import java.util.HashMap;
import java.util.Map;

/** Bounds the connections of a controller, in all and of each address. All on the event loop. */
final class Connections {
  static final int MOST = 8192;
  static final int MOST_OF_ADDRESS = 4096;

  static final String CLOSED = "fairlead.controller.http.connections.closed";

  private final int most;
  private final int mostOfAddress;
  private final MeterRegistry metrics;
  private final Map<String, Integer> ofAddresses = new HashMap<>();
  private int all;

  Connections(int most, int mostOfAddress, MeterRegistry metrics) {
    this.most = most;
    this.mostOfAddress = mostOfAddress;
    this.metrics = metrics;
    metrics.counter(CLOSED, "limit", "all");
    metrics.counter(CLOSED, "limit", "address");
  }

  /** Whether {@code connection} may stay; otherwise it is closed. */
  boolean take(HttpConnection connection) {
    String address = connection.remoteAddress().hostAddress();
    boolean isOfMany = ofAddresses.getOrDefault(address, 0) >= mostOfAddress;
    if (isOfMany || all >= most) {
      metrics.counter(CLOSED, "limit", isOfMany ? "address" : "all").increment();
      connection.close();
      return false;
    }
    all++;
    ofAddresses.merge(address, 1, Integer::sum);
    connection.closeHandler(
        closed -> {
          all--;
          ofAddresses.computeIfPresent(address, (key, of) -> of == 1 ? null : of - 1);
        });
    return true;
  }
}
