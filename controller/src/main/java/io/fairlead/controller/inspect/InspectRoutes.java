// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.inspect;

import io.fairlead.controller.api.Request;
import io.fairlead.controller.api.Resource;
import io.fairlead.controller.api.Routes;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.plane.Refusal;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What a mux knows that ZooKeeper does not: its counters, where it sends one connection, and its
 * packets. The mux is asked anew each time.
 */
public record InspectRoutes(Supplier<List<MuxView>> muxes, MuxAccess access) implements Resource {
  private static final List<String> FLOW =
      List.of("protocol", "source", "sourcePort", "destination", "destinationPort");
  private static final List<String> SAMPLE = List.of("seconds", "rate", "verdict", "source");

  @Override
  public void register(Routes routes) {
    MuxRelay relay = new MuxRelay(routes.vertx(), access);
    routes.streamOf(
        "getMuxMetrics", request -> relay.pass(request.context(), mux(request), "/metrics"));
    routes.streamOf(
        "explainAtMux",
        request -> relay.pass(request.context(), mux(request), "/explain" + query(request, FLOW)));
    routes.streamOf(
        "samplePackets",
        request -> relay.pass(request.context(), mux(request), "/sample" + query(request, SAMPLE)));
  }

  private MuxView mux(Request request) {
    String id = request.pathText("id");
    List<MuxView> all = muxes.get();
    return all.stream()
        .filter(mux -> mux.id().equals(id))
        .findFirst()
        .orElseThrow(
            () ->
                new Refusal(
                    Refusal.Kind.NOT_FOUND,
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
