// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.inspect;

import com.sun.net.httpserver.HttpServer;
import io.fairlead.controller.resources.muxes.MetricsUrl;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Muxes;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** The HTTP side of a mux: answers by path, and what it was asked. */
public final class FakeMux implements AutoCloseable {
  /** An answer that a mux gives to {@code GET path}. */
  public record Says(int status, String type, String body) {}

  private final HttpServer server;
  private final List<String> asked = new CopyOnWriteArrayList<>();

  /**
   * @param answers by path, without the query; what is not there is answered with 404 and no body
   */
  public FakeMux(Map<String, Says> answers) throws IOException {
    this(answers, 404, Map.of());
  }

  /** One that answers all else with 302 and these headers. */
  public FakeMux(Map<String, Says> answers, Map<String, String> headers) throws IOException {
    this(answers, 302, headers);
  }

  private FakeMux(Map<String, Says> answers, int otherwise, Map<String, String> headers)
      throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          asked.add(exchange.getRequestURI().toString());
          Says says =
              answers.getOrDefault(
                  exchange.getRequestURI().getPath(), new Says(otherwise, "text/plain", ""));
          headers.forEach((name, value) -> exchange.getResponseHeaders().add(name, value));
          exchange.getResponseHeaders().add("Content-Type", says.type());
          exchange.sendResponseHeaders(says.status(), 0);
          try (OutputStream out = exchange.getResponseBody()) {
            out.write(says.body().getBytes(StandardCharsets.UTF_8));
          }
        });
    server.start();
  }

  /** One that never ends an answer of this status. */
  public static FakeMux endless(int status) throws IOException {
    FakeMux mux = new FakeMux(Map.of());
    mux.server.createContext(
        "/explain",
        exchange -> {
          exchange.getResponseHeaders().add("Content-Type", "application/json");
          exchange.sendResponseHeaders(status, 0);
          try (OutputStream out = exchange.getResponseBody()) {
            while (true) {
              out.write(new byte[1 << 16]);
            }
          }
        });
    return mux;
  }

  /** Paths and queries, in order. */
  public List<String> asked() {
    return List.copyOf(asked);
  }

  /** Its node, as if it listened where others reach it. */
  public MuxView node(String id) {
    return Muxes.mux(id, "10.1.0.11", List.of("eth0"), Map.of("web", Muxes.serving(1)))
        .withMetrics(Optional.of(new MetricsUrl("http", target())));
  }

  /** Where it is. */
  public String url() {
    return "http://" + target();
  }

  private String target() {
    return "127.0.0.1:" + server.getAddress().getPort();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
