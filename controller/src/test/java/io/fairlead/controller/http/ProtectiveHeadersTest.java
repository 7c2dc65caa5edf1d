// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What no answer lacks, whatever the request: a browser must not take any of them for a page. */
class ProtectiveHeadersTest extends ServedApi {
  private static final List<String> ALWAYS =
      List.of(
          "x-content-type-options: nosniff",
          "x-frame-options: deny",
          "referrer-policy: no-referrer",
          "cross-origin-resource-policy: same-origin");
  private static final String POLICY =
      "content-security-policy: default-src 'none'; frame-ancestors 'none'; sandbox";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "GET /v1/services HTTP/1.1 | 200",
        "GET /v1/services?limit=x HTTP/1.1 | 400",
        "GET /v1/services/none HTTP/1.1 | 404",
        "GET /v1/muxes/none/metrics HTTP/1.1 | 404",
        "GET /v1/metrics/targets HTTP/1.1 | 200",
        "GET /v1/events HTTP/1.1 | 200",
        "GET /metrics HTTP/1.1 | 200",
        "GET /healthz HTTP/1.1 | 200",
        "GET /openapi.json HTTP/1.1 | 200",
        "GET /nowhere HTTP/1.1 | 404",
        "GET /v1/../v1/services HTTP/1.1 | 404",
        "OPTIONS /v1/services HTTP/1.1 | 405",
        "POST /v1/services HTTP/1.1 | 400",
        "NOT HTTP | 400",
      })
  void everyAnswerIsSealed(String line, int status) throws IOException {
    List<String> head = head(line);
    assertThat(head.get(0)).matches("http/1\\.[01] %d .*".formatted(status));
    assertThat(head).containsAll(ALWAYS);
    assertThat(named(head, "content-security-policy")).containsExactly(POLICY);
    assertThat(named(head, "content-type")).hasSizeLessThanOrEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource({"/", "/console/console.js", "/console/icon.svg"})
  void theConsoleHasAPolicyOfItsOwn(String path) throws IOException {
    List<String> head = head("GET %s HTTP/1.1".formatted(path));
    assertThat(head).containsAll(ALWAYS);
    assertThat(named(head, "content-security-policy"))
        .singleElement()
        .asString()
        .contains("script-src 'self'")
        .doesNotContain("sandbox");
  }

  private static List<String> named(List<String> head, String name) {
    return head.stream().filter(line -> line.startsWith(name + ":")).toList();
  }

  /** The answer's lines up to the first empty one, in lower case. */
  private List<String> head(String line) throws IOException {
    try (Socket socket = new Socket(server.listen().host(), server.listen().port())) {
      socket.setSoTimeout(60_000);
      String request = line + "\r\nHost: " + server.listen() + "\r\nContent-Length: 0\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      return new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1))
          .lines()
          .takeWhile(each -> !each.isEmpty())
          .map(each -> each.toLowerCase(Locale.ROOT))
          .collect(Collectors.toList());
    }
  }
}
