// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the controller serves as web console, and which pages may call its API. */
class ConsoleTest extends ServedApi {
  /** MemoryController says that a controller runs there. */
  private static final String OTHER = "http://10.1.0.5:8080";

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private HttpResponse<byte[]> send(String method, String path, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url() + path))
            .method(method, HttpRequest.BodyPublishers.noBody());
    if (headers.length > 0) {
      request.headers(headers);
    }
    try {
      return http.send(request.build(), BodyHandlers.ofByteArray());
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  private static String text(HttpResponse<byte[]> answer) {
    return new String(answer.body(), StandardCharsets.UTF_8);
  }

  /** Waits until the page may call the other controller; it stays the same then. */
  private void awaitOther() {
    await()
        .untilAsserted(
            () ->
                assertThat(header(send("GET", "/"), "Content-Security-Policy"))
                    .contains("connect-src 'self' " + OTHER + ";"));
  }

  @ParameterizedTest
  @CsvSource({
    "/, text/html; charset=utf-8, no-cache",
    "/console/icon.svg, image/svg+xml, no-cache",
    "/console/console.js?v=1, text/javascript; charset=utf-8, 'max-age=31536000, immutable'",
    "/console/console.css?v=1, text/css; charset=utf-8, 'max-age=31536000, immutable'",
    "/console/licences.txt, text/plain; charset=utf-8, no-cache"
  })
  void filesAreServedWithoutAToken(String path, String mediaType, String cache) throws IOException {
    awaitOther();
    HttpResponse<byte[]> plain = send("GET", path);
    assertThat(plain.statusCode()).isEqualTo(200);
    assertThat(header(plain, "Content-Type")).isEqualTo(mediaType);
    assertThat(header(plain, "Cache-Control")).isEqualTo(cache);
    assertThat(header(plain, "X-Content-Type-Options")).isEqualTo("nosniff");
    assertThat(header(plain, "Referrer-Policy")).isEqualTo("no-referrer");
    assertThat(header(plain, "Content-Security-Policy"))
        .startsWith("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';")
        .contains("connect-src 'self'")
        .contains("frame-ancestors 'none'")
        .doesNotContain("unsafe");

    HttpResponse<byte[]> packed = send("GET", path, "Accept-Encoding", "gzip");
    assertThat(header(packed, "Content-Encoding")).isEqualTo("gzip");
    assertThat(new GZIPInputStream(new ByteArrayInputStream(packed.body())).readAllBytes())
        .isEqualTo(plain.body());

    HttpResponse<byte[]> head = send("HEAD", path);
    assertThat(head.statusCode()).isEqualTo(200);
    assertThat(header(head, "Content-Length")).isEqualTo("" + plain.body().length);

    HttpResponse<byte[]> again = send("GET", path, "If-None-Match", header(plain, "ETag"));
    assertThat(again.statusCode()).isEqualTo(304);
    assertThat(again.body()).isEmpty();
  }

  /** Files that never change are named by their content, and the page has nothing inline. */
  @Test
  void thePageNamesItsFilesByTheirContent() {
    String page = text(send("GET", "/")).replace(OTHER, "");
    assertThat(page)
        .containsPattern("src=\"/console/console\\.js\\?v=[0-9a-f]{16}\"")
        .containsPattern("href=\"/console/console\\.css\\?v=[0-9a-f]{16}\"")
        .doesNotContainPattern("<script[^>]*>[^<]")
        .doesNotContain("style=", "http://", "https://");
    Matcher links = Pattern.compile("(?:src|href)=\"([^\"]+)\"").matcher(page);
    assertThat(links.results().map(match -> send("GET", match.group(1)).statusCode()))
        .isNotEmpty()
        .containsOnly(200);
    assertThat(text(send("GET", "/console/licences.txt"))).contains("preact", "uplot", "signals");
  }

  @ParameterizedTest
  @CsvSource({
    "GET, /console, 404",
    "GET, /console/, 404",
    "GET, /console/.stamp, 404",
    "GET, /console/console.js.gz, 404",
    "GET, /console/../console/console.js, 404",
    "GET, /index.html, 404",
    "POST, /, 404",
    "OPTIONS, /v1/services, 405"
  })
  void everythingElseIsTheApis(String method, String path, int status) {
    assertThat(send(method, path).statusCode()).isEqualTo(status);
  }

  @Test
  void thePageMayCallTheOtherControllers() {
    awaitOther();
    assertThat(text(send("GET", "/")))
        .contains("<meta name=\"controllers\" content=\"" + OTHER + "\" />");
  }

  /** A page that was loaded before another controller was known says so, and is outdated then. */
  @Test
  void thePageSaysWhomItsPolicyNames() {
    Console console = Console.load(List::of);
    Console.File alone = console.page(List.of());
    Console.File both = console.page(List.of(OTHER, "https://c"));
    assertThat(alone.plain().toString()).contains("<meta name=\"controllers\" content=\"\" />");
    assertThat(both.plain().toString()).contains(" content=\"" + OTHER + " https://c\" />");
    assertThat(both.tag()).isNotEqualTo(alone.tag());
  }

  /** Chromium 156 says that such a source is invalid, and ignores it. */
  @Test
  void noPolicyNamesALiteralIpv6Address() {
    assertThat(Console.named(List.of("http://[fd00::5]:8080", "http://b:8080")))
        .containsExactly("http://b:8080");
  }

  @Test
  void pagesOfOtherControllersMayCallTheApi() {
    await()
        .untilAsserted(
            () ->
                assertThat(
                        header(
                            send("GET", "/v1/services", "Origin", OTHER),
                            "Access-Control-Allow-Origin"))
                    .isEqualTo(OTHER));
    HttpResponse<byte[]> asked =
        send(
            "OPTIONS",
            "/v1/services/web/changes",
            "Origin",
            OTHER,
            "Access-Control-Request-Method",
            "POST");
    assertThat(asked.statusCode()).isEqualTo(204);
    assertThat(header(asked, "Access-Control-Allow-Methods")).contains("POST");
    assertThat(header(asked, "Access-Control-Allow-Headers"))
        .contains("Authorization", "If-Match", "Last-Event-ID");
    assertThat(header(asked, "Access-Control-Allow-Credentials")).isEmpty();

    for (String foreign : List.of("http://10.1.0.5", "http://evil.example", "null")) {
      HttpResponse<byte[]> refused =
          send(
              "OPTIONS",
              "/v1/services",
              "Origin",
              foreign,
              "Access-Control-Request-Method",
              "POST");
      assertThat(refused.statusCode()).as(foreign).isEqualTo(405);
      assertThat(header(refused, "Access-Control-Allow-Origin")).as(foreign).isEmpty();
    }
  }

  @Test
  void onlyOriginsAreLearned() {
    Origins origins = new Origins();
    origins.learn(
        List.of(
            "http://a:8080",
            "https://b.example:443",
            "http://c:80",
            "http://d:8080; script-src *",
            "http://e:8080/path",
            "ftp://f:21",
            "http://[fd00::5]:8080"));
    assertThat(origins.known())
        .containsExactly("http://a:8080", "https://b.example", "http://c", "http://[fd00::5]:8080");
    for (int i = 0; i < 40; i++) {
      origins.learn(List.of("http://h" + i + ":8080", "http://a:8080"));
    }
    assertThat(origins.known()).hasSize(32).contains("http://a:8080", "http://h39:8080");
  }
}
