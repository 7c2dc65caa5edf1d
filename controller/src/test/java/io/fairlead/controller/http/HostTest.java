// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.Resources;
import io.fairlead.controller.leader.MemoryController;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A page of an attacker's name that now has this controller's address (DNS rebinding): to the
 * browser it is the page's own origin, and only the header Host tells.
 */
class HostTest {
  private static final String ANSWERED = "200";
  private static final String REFUSED = "421";
  private static final List<String> PATHS =
      List.of(
          "/",
          "/console/console.js",
          "/v1/services",
          "/v1/backup",
          "/metrics",
          "/v1/events",
          "/openapi.json",
          "/nothing");

  private final PrometheusMeterRegistry metrics =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  @AutoClose private final MemoryController controller = new MemoryController();
  private ApiServer server;

  private void serve(String listen, String... others) throws IOException {
    Security security = Security.NONE.with(List.of(others));
    Endpoint at = Endpoint.parse("--listen", listen);
    server =
        ApiServer.open(at, security, controller.plane(), Resources.of(controller.get()), metrics);
  }

  @AfterEach
  void end() {
    if (server != null) {
      server.close();
    }
  }

  private String ask(String to, String method, String target, String hosts) throws IOException {
    try (Socket socket = new Socket(to, server.listen().port())) {
      socket.setSoTimeout(30_000);
      String head =
          "%s %s HTTP/1.1\r\n%sConnection: close\r\n\r\n".formatted(method, target, hosts);
      socket.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
      byte[] status = socket.getInputStream().readNBytes("HTTP/1.1 200".length());
      return new String(status, StandardCharsets.ISO_8859_1).substring("HTTP/1.1 ".length());
    }
  }

  private static String host(String name) {
    return "Host: " + name + "\r\n";
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
  void aForeignNameGetsNothing(String method) throws IOException {
    serve("127.0.0.1:0");
    for (String path : PATHS) {
      assertThat(ask("127.0.0.1", method, path, host("evil.example:8080")))
          .as(path)
          .isEqualTo(REFUSED);
    }
    assertThat(metrics.counter("fairlead.controller.access.refused", "status", "421").count())
        .isEqualTo(PATHS.size());
  }

  @Test
  void noRequestFollowsARefusedOne() throws IOException {
    serve("127.0.0.1:0");
    String refused = "POST /v1/services HTTP/1.1\r\n%sContent-Length: 2\r\n\r\n{}";
    String second = "GET /healthz HTTP/1.1\r\n%s\r\n";
    try (Socket socket = new Socket("127.0.0.1", server.listen().port())) {
      socket.setSoTimeout(30_000);
      String sent = refused.formatted(host("evil.example")) + second.formatted(host("127.0.0.1"));
      socket.getOutputStream().write(sent.getBytes(StandardCharsets.ISO_8859_1));
      String answers =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      assertThat(answers).startsWith("HTTP/1.1 421 ").doesNotContain("HTTP/1.1 200");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "127.0.0.1:0, 127.0.0.1, 127.0.0.1, 200",
    "127.0.0.1:0, 127.0.0.1, 127.0.0.1:8080, 200",
    "127.0.0.1:0, 127.0.0.1, localhost, 200",
    "127.0.0.1:0, 127.0.0.1, LocalHost.:9000, 200",
    "127.0.0.1:0, 127.0.0.1, localhost.evil.example, 421",
    "127.0.0.1:0, 127.0.0.1, 127.0.0.1.evil.example, 421",
    "127.0.0.1:0, 127.0.0.1, 127.0.0.2, 421",
    "127.0.0.1:0, 127.0.0.1, 127.1, 421",
    "127.0.0.1:0, 127.0.0.1, 2130706433, 421",
    "127.0.0.1:0, 127.0.0.1, 0.0.0.0, 421",
    "127.0.0.1:0, 127.0.0.1, [::ffff:127.0.0.1], 421",
    "127.0.0.1:0, 127.0.0.1, user@127.0.0.1, 400",
    "127.0.0.1:0, 127.0.0.1, 127.0.0.1:80:80, 421",
    "127.0.0.1:0, 127.0.0.1, 127.0.0.1:x, 421",
    "127.0.0.1:0, 127.0.0.1, '127.0.0.1, evil.example', 400",
    "127.0.0.1:0, 127.0.0.1, '', 400",
    "localhost:0, localhost, localhost, 200",
    "[::1]:0, ::1, [::1]:8080, 200",
    "[::1]:0, ::1, [0:0:0:0:0:0:0:1], 200",
    "[::1]:0, ::1, localhost, 200",
    "[::1]:0, ::1, ::1, 421",
    "[::1]:0, ::1, [::2], 421",
    "0.0.0.0:0, 127.0.0.2, 127.0.0.2, 200",
    "0.0.0.0:0, 127.0.0.1, localhost, 200",
    "0.0.0.0:0, 127.0.0.1, 127.0.0.2, 421",
    "0.0.0.0:0, 127.0.0.1, 0.0.0.0, 421",
    "0.0.0.0:0, 127.0.0.1, evil.example, 421"
  })
  void itsOwnNamesAreAnswered(String listen, String to, String host, String status)
      throws IOException {
    serve(listen);
    assertThat(ask(to, "GET", "/v1/services", host(host))).isEqualTo(status);
  }

  @ParameterizedTest
  @CsvSource({
    "lb1.example, 200",
    "LB1.Example.:80, 200",
    "lb2.example, 421",
    "x.lb1.example, 421",
    "[2001:db8::7]:8080, 200",
    "[2001:DB8:0::7], 200",
    "10.1.0.5, 200",
    "10.1.0.6, 421"
  })
  void otherNamesAreAdded(String host, String status) throws IOException {
    serve("127.0.0.1:0", "lb1.EXAMPLE", "2001:db8:0::7", "10.1.0.5");
    assertThat(ask("127.0.0.1", "GET", "/healthz", host(host))).isEqualTo(status);
  }

  @Test
  void everyNameThatARequestHasCounts() throws IOException {
    serve("127.0.0.1:0");
    String good = host("127.0.0.1");
    String evil = host("evil.example");
    assertThat(ask("127.0.0.1", "GET", "/healthz", good)).isEqualTo(ANSWERED);
    assertThat(ask("127.0.0.1", "GET", "http://evil.example/healthz", good)).isNotEqualTo(ANSWERED);
    assertThat(ask("127.0.0.1", "GET", "HTTPS://evil.example", good)).isNotEqualTo(ANSWERED);
    assertThat(ask("127.0.0.1", "GET", "/healthz", good + evil)).isNotEqualTo(ANSWERED);
    assertThat(ask("127.0.0.1", "GET", "/healthz", evil + good)).isNotEqualTo(ANSWERED);
    assertThat(ask("127.0.0.1", "GET", "/healthz", "")).isNotEqualTo(ANSWERED);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "lb1:8080", "http://lb1", "*.example", "[::1", "[::1]:80"})
  void badNamesAreRefused(String name) {
    assertThatThrownBy(() -> Security.NONE.with(List.of(name)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "--allowed-host '%s' is refused; allowed: a host name or an address, without a port"
                .formatted(name));
  }
}
