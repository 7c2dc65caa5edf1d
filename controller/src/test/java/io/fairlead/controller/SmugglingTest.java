// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.core.ring.Vectors;
import io.fairlead.controller.http.Endpoint;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.apache.curator.test.TestingServer;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Requests in which two readers of HTTP could find different ones, sent as bytes to a follower,
 * which forwards, and to the leader: each is answered with 400 at most, its connection is closed,
 * and nothing that follows it there is carried out.
 */
@Timeout(300)
class SmugglingTest {
  private static final String ADMIN = "ada-0123456789abcdef";
  private static final String AGENT = "agent-0123456789abcdef";
  private static final String WEB = "/v1/services/web";
  private static final String AGENTS = "/v1/agents";
  private static final String OPEN = "(still open)";
  private static final String DELETE =
      "DELETE %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n"
          .formatted(WEB, ADMIN);
  private static final int SILENT_MILLIS = 20_000;

  @TempDir private Path directory;
  private final HttpClient http = HttpClient.newHttpClient();
  private TestingServer zookeeper;
  private ControllerProcess leader;
  private ControllerProcess follower;

  @BeforeEach
  void start() throws Exception {
    zookeeper = TestZooKeeper.start();
    String[] flags = {
      "--tokens="
          + secret("tokens", "ada admin plain:" + ADMIN, "s7 server=10.1.0.7 plain:" + AGENT),
      "--zookeeper-auth=" + secret("login", "controllers:the-password", "muxes:the-password"),
    };
    leader = ControllerProcess.join(directory, zookeeper.getConnectString(), flags);
    follower = ControllerProcess.join(directory, zookeeper.getConnectString(), flags);
    String spec =
        """
        {"name":"web","vips":["10.99.0.1"],"buckets":256,"ports":[{"protocol":"tcp","port":80}],
         "vipRanges":["10.99.0.0/16"]}\
        """;
    assertThat(send(leader, "POST", "/v1/services", spec).statusCode()).isEqualTo(201);
  }

  @AfterEach
  void stop() throws IOException {
    follower.close();
    leader.close();
    zookeeper.close();
  }

  /** With {@code AGENT}'s token, the chunk's request waited for an admin's next one. */
  @Test
  void anAgentsReportDoesNotPrecedeAnAdminsRequest() throws Exception {
    String chunk = "{}DELETE %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Swallow: ".formatted(WEB);
    String report =
        """
        POST /v1/agent/reports HTTP/1.0
        Host: 127.0.0.1
        Authorization: Bearer %s
        Content-Type: application/json
        Content-Length: 2
        Transfer-Encoding: chunked

        """
            .formatted(AGENT)
            .replace("\n", "\r\n");
    String answer = exchange(follower.api(), report + chunk(chunk) + "0\r\n\r\n");
    send(follower, "GET", AGENTS, "");
    checkNothingWasDeleted();
    assertThat(answer).startsWith("HTTP/1.1 400 ").contains("application/problem+json");
  }

  @Test
  void nothingIsReadTwoWays() throws Exception {
    SoftAssertions all = new SoftAssertions();
    JsonNode vectors = Vectors.read("http-malformed.json");
    for (ControllerProcess at : List.of(follower, leader)) {
      Vectors.rows(vectors, "refused")
          .forEach(
              row -> {
                String raw = row.get("raw").asText();
                String answer =
                    exchange(
                        at.api(),
                        raw.replace("{host}", at.api().toString())
                            .replace("{path}", raw.startsWith("POST") ? "/v1/services" : AGENTS)
                            .replace("{auth}", "Authorization: Bearer " + ADMIN + "\r\n")
                            .replace("{chunk2}", chunk("{}" + DELETE))
                            .replace("{second}", DELETE));
                all.assertThat(answer)
                    .as("%s to the %s", row.get("name"), at == leader ? "leader" : "follower")
                    .startsWith("HTTP/1.1 400 ")
                    .contains("application/problem+json")
                    .doesNotContain(OPEN)
                    .satisfies(text -> assertThat(text.split("HTTP/1[.]1 [0-9]", -1)).hasSize(2));
              });
    }
    all.assertAll();
    checkNothingWasDeleted();
  }

  /** By the service, by the audit records, and by what both controllers count. */
  private void checkNothingWasDeleted() throws Exception {
    assertThat(send(leader, "GET", WEB, "").statusCode()).isEqualTo(200);
    JsonArray records = new JsonArray(send(leader, "GET", "/v1/audit", "").body());
    assertThat(records.stream().map(record -> ((JsonObject) record).getString("what")))
        .containsExactly("POST /v1/services");
    String counted = send(leader, "GET", "/metrics", "").body();
    assertThat(counted)
        .contains("operation=\"createService\"")
        .doesNotContain("operation=\"deleteService\"");
  }

  private HttpResponse<String> send(ControllerProcess at, String method, String path, String body)
      throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://" + at.api() + path))
            .timeout(Duration.ofSeconds(60))
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer " + ADMIN)
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private static String chunk(String content) {
    return "%x\r\n%s\r\n".formatted(content.length(), content);
  }

  /** All that comes until the other side closes. */
  private static String exchange(Endpoint at, String raw) {
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    try (Socket socket = new Socket(at.host(), at.port())) {
      socket.setSoTimeout(SILENT_MILLIS);
      socket.getOutputStream().write(raw.getBytes(StandardCharsets.ISO_8859_1));
      socket.getInputStream().transferTo(answer);
      return answer.toString(StandardCharsets.ISO_8859_1);
    } catch (SocketTimeoutException e) {
      return answer.toString(StandardCharsets.ISO_8859_1) + OPEN;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Path secret(String name, String... lines) throws IOException {
    Path path = Files.writeString(directory.resolve(name), String.join("\n", lines));
    return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
  }
}
