// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.inspect;

import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.inspect.MuxRelay.Ask;
import io.fairlead.controller.resources.muxes.MetricsUrl;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.plane.Refusal;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What a mux knows that ZooKeeper does not: its counters, where it sends one connection, and its
 * packets. The mux is asked each time.
 */
public record InspectRoutes(Supplier<List<MuxView>> muxes, MuxAccess access) implements Resource {
  private static final List<String> FLOW =
      List.of("protocol", "source", "sourcePort", "destination", "destinationPort");
  private static final List<String> SAMPLE = List.of("seconds", "rate", "verdict", "source");

  /** Without the parameters, as in the contract. */
  private static final int SAMPLE_SECONDS = 5;

  private static final int SAMPLE_RATE = 100;

  /** Passed on as it comes; this only ends what would not end. */
  private static final long METRICS_BYTES = 64L << 20;

  private static final long EXPLANATION_BYTES = 1L << 20;
  private static final long PACKET_BYTES = 1024;
  private static final int ANSWER_SECONDS = 30;
  private static final Ask METRICS =
      new Ask(
          MetricsUrl.PATH,
          "text/plain; version=0.0.4; charset=utf-8",
          METRICS_BYTES,
          ANSWER_SECONDS);

  @Override
  public void register(Routes routes) {
    MuxRelay relay = new MuxRelay(routes.vertx(), access, routes.metrics());
    pass(routes, relay, "getMuxMetrics", request -> METRICS);
    pass(routes, relay, "explainAtMux", request -> explain(query(request, FLOW)));
    pass(routes, relay, "samplePackets", InspectRoutes::sample);
  }

  private void pass(Routes routes, MuxRelay relay, String operation, Function<Request, Ask> ask) {
    routes.streamOf(
        operation, request -> relay.pass(request.context(), mux(request), ask.apply(request)));
  }

  private static Ask explain(String query) {
    return new Ask("/explain" + query, "application/json", EXPLANATION_BYTES, ANSWER_SECONDS);
  }

  /** A mux writes at most 256 bytes of a packet, and a comment. */
  private static Ask sample(Request request) {
    int seconds = request.queryNumber("seconds", SAMPLE_SECONDS);
    long packets = (long) seconds * request.queryNumber("rate", SAMPLE_RATE);
    return new Ask(
        "/sample" + query(request, SAMPLE),
        "application/x-pcapng",
        EXPLANATION_BYTES + packets * PACKET_BYTES,
        seconds + ANSWER_SECONDS);
  }

  private MuxView mux(Request request) {
    String id = request.pathText("id");
    List<MuxView> all = muxes.get();
    return all.stream()
        .filter(mux -> mux.id().equals(id))
        .findFirst()
        .orElseThrow(
            () ->
                Refusal.missing(
                    "id",
                    id,
                    all.isEmpty()
                        ? "a mux that is alive; there is none"
                        : all.stream().map(MuxView::id).collect(Collectors.joining(", "))));
  }

  /** The service of the path, and those of the parameters that the request has. */
  private static String query(Request request, List<String> names) {
    StringJoiner query = new StringJoiner("&", "?service=" + encode(request.service()) + "&", "");
    for (String name : names) {
      Optional<String> value = request.sent(name);
      value.ifPresent(text -> query.add(name + "=" + encode(text)));
    }
    return query.toString().replaceAll("&$", "");
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
