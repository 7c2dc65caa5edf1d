// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.zip.GZIPOutputStream;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Reports that fill the leader's memory if it makes objects of them: 24 KB of gzip are 16 MiB of
 * JSON. The leader is a process with a quarter of the usual heap. {@code bench/run hostile} has a
 * thousand agents.
 */
@Timeout(300)
class HostileReportsTest {
  private static final String ADMIN = "ada-0123456789abcdef";
  private static final int AGENTS = 64;
  private static final int BYTES = 16 << 20;
  private static final String REPORTS = "/v1/agent/reports";

  @TempDir private Path directory;
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private TestingServer zookeeper;
  private ControllerProcess leader;

  @BeforeEach
  void start() throws Exception {
    zookeeper = TestZooKeeper.start();
    List<String> lines = new ArrayList<>(List.of("ada admin plain:" + ADMIN));
    for (int agent = 0; agent < AGENTS; agent++) {
      lines.add("s%d server=10.1.0.%d plain:%s".formatted(agent, agent + 1, token(agent)));
    }
    Path tokens = Files.write(directory.resolve("tokens"), lines);
    Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
    Path login =
        Files.writeString(directory.resolve("login"), "controllers:password-1\nmuxes:password-2");
    Files.setPosixFilePermissions(login, PosixFilePermissions.fromString("rw-------"));
    leader =
        ControllerProcess.join(
            directory,
            zookeeper.getConnectString(),
            "--tokens=" + tokens,
            "--zookeeper-auth=" + login);
  }

  @AfterEach
  void stop() throws IOException {
    leader.close();
    zookeeper.close();
  }

  private static String token(int agent) {
    return "agent-%d-0123456789abcdef".formatted(agent);
  }

  private HttpRequest.Builder to(String path, String token) {
    return HttpRequest.newBuilder(URI.create("http://" + leader.api() + path))
        .timeout(Duration.ofSeconds(120))
        .header("Authorization", "Bearer " + token);
  }

  private static byte[] packed(String head, String repeated) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
      gzip.write(head.getBytes(StandardCharsets.UTF_8));
      gzip.write(
          repeated
              .repeat((BYTES - head.length()) / repeated.length())
              .getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }

  @Test
  void manyAtOnceLeaveTheLeaderLeading() throws Exception {
    List<byte[]> bodies =
        List.of(
            packed("[", "{\"\":0},"),
            packed("{\"services\":[", "{\"\":0},"),
            packed("{\"services\":[", "{},"),
            packed("{\"addresses\":[", "\"\","),
            packed("{\"services\":", "["),
            packed("{\"form\":", "{\"form\":"),
            packed("", "["),
            packed("\"", "a"));
    List<CompletableFuture<HttpResponse<String>>> sent = new ArrayList<>();
    for (int agent = 0; agent < AGENTS; agent++) {
      sent.add(
          http.sendAsync(
              to(REPORTS, token(agent))
                  .header("Content-Type", "application/json")
                  .header("Content-Encoding", "gzip")
                  .POST(HttpRequest.BodyPublishers.ofByteArray(bodies.get(agent % bodies.size())))
                  .build(),
              HttpResponse.BodyHandlers.ofString()));
    }
    for (int read = 0; read < 10; read++) {
      assertThat(get("/v1/services").statusCode()).isEqualTo(200);
    }
    for (CompletableFuture<HttpResponse<String>> each : sent) {
      assertThat(each.get().statusCode()).as(each.get().body()).isEqualTo(400);
    }
    assertThat(new JsonObject(get("/healthz").body()).getBoolean("leader")).isTrue();
    assertThat(get("/metrics").body())
        .contains("fairlead_controller_agent_reports_refused_total{reason=\"malformed\"} 64.0");
  }

  /** The first one's body does not end. */
  @Test
  void oneServerHasOneReportInFlight() throws Exception {
    String head =
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                .formatted(REPORTS, token(0))
            + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    try (Socket slow = new Socket(leader.api().host(), leader.api().port())) {
      slow.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      await().atMost(Duration.ofSeconds(60)).until(() -> post(0).statusCode() == 503);
      JsonObject problem = new JsonObject(post(0).body());
      assertThat(problem.getString("detail"))
          .isEqualTo(
              "body: another report of the server is in flight; allowed: one at a time; to send it"
                  + " again later");
      assertThat(post(1).statusCode()).as("of another server").isEqualTo(400);
    }
    await().atMost(Duration.ofSeconds(60)).until(() -> post(0).statusCode() == 400);
    assertThat(get("/metrics").body())
        .contains("fairlead_controller_http_busy_total{limit=\"server\"}");
  }

  private HttpResponse<String> post(int agent) throws IOException, InterruptedException {
    return http.send(
        to(REPORTS, token(agent))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString("{}"))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return http.send(to(path, ADMIN).build(), HttpResponse.BodyHandlers.ofString());
  }
}
