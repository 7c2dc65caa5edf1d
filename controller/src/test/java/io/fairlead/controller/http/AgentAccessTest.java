// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static io.fairlead.controller.resources.agents.AgentRequests.gzip;
import static io.fairlead.controller.resources.agents.AgentRequests.report;
import static io.fairlead.controller.resources.agents.AgentRequests.service;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.resources.agents.AgentRoutes;
import io.fairlead.controller.secret.SecretFile;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which servers an agent may report about, by token and by certificate, over real TLS. */
class AgentAccessTest {
  private static final String ADMIN = "ada-0123456789abcdef";
  private static final String SEVEN = "seven-0123456789abcdef";
  private static final String STRANGER = "stranger-0123456789abcdef";
  private static final String SERVICE =
      "{\"name\":\"%s\",\"vips\":[\"%s\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],"
          + "\"buckets\":256}";

  @TempDir private Path directory;
  @AutoClose private final MemoryController controller = new MemoryController();
  private final PrometheusMeterRegistry metrics =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private Certificate api;
  private Certificate agent;
  private Certificate nameless;
  private ApiServer server;
  private HttpClient http;
  private String version;

  @BeforeEach
  void serve() throws IOException {
    api = Certificate.make(directory, "api");
    agent = Certificate.make(directory, "agent", "san=ip:10.2.0.7");
    nameless = Certificate.make(directory, "nameless", "san=dns:seven.example");
    Path agents =
        Files.writeString(
            directory.resolve("agents.pem"),
            Files.readString(agent.pem()) + Files.readString(nameless.pem()));
    Path tokens =
        Files.writeString(
            directory.resolve("tokens"),
            "ada admin plain:%s%nseven server=10.2.0.7 plain:%s%nnine server=10.2.0.9 plain:%s%n"
                .formatted(ADMIN, SEVEN, STRANGER));
    Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
    Security.Tls tls =
        new Security.Tls(api.pem(), new SecretFile("--tls-key", api.key()), Optional.of(agents));
    server =
        controller.serve(
            new Security(
                Optional.of(tls),
                Optional.empty(),
                Optional.of(new SecretFile("--tokens", tokens)),
                true),
            List.of(),
            metrics);
    http = HttpClient.newBuilder().sslContext(api.trust()).build();
    for (Map.Entry<String, String> each : Map.of("web", "10.2.0.7", "dns", "10.2.0.8").entrySet()) {
      String vip = each.getKey().equals("web") ? "10.99.0.1" : "10.99.0.2";
      assertThat(send("POST", "/v1/services", SERVICE.formatted(each.getKey(), vip), ADMIN))
          .returns(201, HttpResponse::statusCode);
      String path = "/v1/services/%s/backends/7".formatted(each.getKey());
      assertThat(send("PUT", path, "{\"address\":\"%s\"}".formatted(each.getValue()), ADMIN))
          .returns(201, HttpResponse::statusCode);
    }
    version =
        new JsonObject(send("GET", "/v1/agent/services", "", SEVEN).body()).getString("version");
  }

  @AfterEach
  void end() {
    server.close();
  }

  private HttpResponse<String> send(String method, String path, String body, String token) {
    return send(http, method, path, body, token);
  }

  private HttpResponse<String> send(
      HttpClient client, String method, String path, String body, String token) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(server.url(Optional.empty()) + path))
            .header("Content-Type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (!token.isEmpty()) {
      request.header("Authorization", "Bearer " + token);
    }
    return send(client, request.build());
  }

  private static HttpResponse<String> send(HttpClient client, HttpRequest request) {
    try {
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private HttpResponse<String> post(JsonObject report, String token) {
    return send("POST", "/v1/agent/reports", report.encode(), token);
  }

  @Test
  void anAgentSeesTheServicesOfItsServerOnly() {
    JsonObject served = new JsonObject(send("GET", "/v1/agent/services", "", SEVEN).body());
    assertThat(served.getJsonArray("services")).hasSize(1);
    JsonObject web = served.getJsonArray("services").getJsonObject(0);
    assertThat(web.getString("name")).isEqualTo("web");
    assertThat(web.getString("hashKey")).hasSize(32);
    assertThat(web.getJsonArray("backends"))
        .isEqualTo(new JsonArray("[{\"id\":7,\"address\":\"10.2.0.7\"}]"));
    JsonObject nothing = new JsonObject(send("GET", "/v1/agent/services", "", STRANGER).body());
    assertThat(nothing.getJsonArray("services")).isEmpty();
    assertThat(send("GET", "/v1/services", "", SEVEN).statusCode()).isEqualTo(403);
    assertThat(send("GET", "/v1/agents", "", SEVEN).statusCode()).isEqualTo(403);
    assertThat(send("GET", "/v1/agent/services", "", ADMIN).statusCode()).isEqualTo(403);
  }

  @Test
  void aReportAboutItsOwnServerIsUsed() {
    assertThat(post(report(1, version, "10.2.0.7", service("web", 12)), SEVEN).statusCode())
        .isEqualTo(200);
    assertThat(
            controller
                .get()
                .softState()
                .reports()
                .connections("web", 7)
                .orElseThrow()
                .established())
        .isEqualTo(12);
    assertThat(metrics.scrape())
        .contains("fairlead_controller_agent_reports_total{result=\"used\"} 1.0")
        .contains("fairlead_controller_agent_opened_connections_total{service=\"web\"} 4.0");
  }

  /** By token, address and service of a report, and the field that is named. */
  @ParameterizedTest
  @CsvSource({
    "stranger-0123456789abcdef, 10.2.0.7, web, addresses[0]",
    "seven-0123456789abcdef, 10.2.0.8, dns, addresses[0]",
    "seven-0123456789abcdef, 10.2.0.7, dns, services[0].name",
    "ada-0123456789abcdef, 10.2.0.7, web, role",
  })
  void aReportAboutAnotherServerIsRefused(
      String token, String address, String service, String field) {
    HttpResponse<String> refused = post(report(1, version, address, service(service, 0)), token);
    assertThat(refused.statusCode()).isEqualTo(403);
    JsonObject problem = new JsonObject(refused.body());
    assertThat(problem.getString("field")).isEqualTo(field);
    assertThat(controller.get().softState().reports().connections("web", 7)).isEmpty();
    assertThat(controller.get().softState().reports().connections("dns", 7)).isEmpty();
  }

  @Test
  void reportsAboutOthersAreCountedAndSomeOfThemRecorded() {
    for (int i = 0; i < AgentRoutes.RECORDS + 5; i++) {
      post(report(1, version, "10.2.0.7", service("web", 0)), STRANGER);
    }
    assertThat(metrics.scrape())
        .contains("fairlead_controller_agent_reports_refused_total{reason=\"foreign\"} 15.0");
    long records =
        controller.get().audit().page(OptionalLong.empty(), 100).entries().stream()
            .map(each -> each.entry())
            .filter(entry -> entry.outcome().equals("refused"))
            .peek(
                entry -> {
                  assertThat(entry.who()).isEqualTo("nine");
                  assertThat(entry.body().orElseThrow())
                      .contains("addresses[0] '10.2.0.7' is refused; allowed: 10.2.0.9");
                })
            .count();
    assertThat(records).isEqualTo(AgentRoutes.RECORDS);
  }

  @Test
  void aCertificateNamesTheServer() {
    HttpClient certified = HttpClient.newBuilder().sslContext(api.trust(agent)).build();
    HttpResponse<String> served = send(certified, "GET", "/v1/agent/services", "", "");
    assertThat(served.statusCode()).isEqualTo(200);
    assertThat(new JsonObject(served.body()).getString("version")).isEqualTo(version);
    String own = report(1, version, "10.2.0.7", service("web", 12)).encode();
    assertThat(send(certified, "POST", "/v1/agent/reports", own, "").statusCode()).isEqualTo(200);
    String other = report(1, version, "10.2.0.8", service("dns", 12)).encode();
    assertThat(send(certified, "POST", "/v1/agent/reports", other, "").statusCode()).isEqualTo(403);
    assertThat(send(certified, "GET", "/v1/services", "", "").statusCode()).isEqualTo(403);
    assertThat(send(certified, "GET", "/v1/services", "", ADMIN).statusCode()).isEqualTo(200);
    assertThat(send("POST", "/v1/agent/reports", own, "").statusCode())
        .as("without a certificate")
        .isEqualTo(401);
  }

  @Test
  void aCertificateOfAnotherAuthorityOrOfNoServerIsNone() {
    Certificate foreign = Certificate.make(directory, "foreign", "san=ip:10.2.0.7");
    HttpClient stranger = HttpClient.newBuilder().sslContext(api.trust(foreign)).build();
    assertThatThrownBy(() -> send(stranger, "GET", "/v1/agent/services", "", ""))
        .isInstanceOf(IllegalStateException.class)
        .hasCauseInstanceOf(IOException.class);
    HttpClient unnamed = HttpClient.newBuilder().sslContext(api.trust(nameless)).build();
    assertThat(send(unnamed, "GET", "/v1/agent/services", "", "").statusCode()).isEqualTo(401);
    assertThat(send(unnamed, "GET", "/v1/agent/services", "", SEVEN).statusCode()).isEqualTo(200);
  }

  @Test
  void anotherAuthorityIsTrustedWithoutARestart() throws IOException {
    Certificate later = Certificate.make(directory, "later", "san=ip:10.2.0.7");
    Path agents = directory.resolve("agents.pem");
    Path next = directory.resolve("next.pem");
    Files.writeString(next, Files.readString(agents) + Files.readString(later.pem()));
    Files.move(next, agents, StandardCopyOption.REPLACE_EXISTING);
    await().atMost(Duration.ofSeconds(20)).until(() -> seesServices(later));
    assertThat(seesServices(agent)).isTrue();
  }

  private boolean seesServices(Certificate own) {
    HttpClient certified = HttpClient.newBuilder().sslContext(api.trust(own)).build();
    try {
      return send(certified, "GET", "/v1/agent/services", "", "").statusCode() == 200;
    } catch (IllegalStateException e) {
      return false; // the handshake fails
    }
  }

  @Test
  void aFollowerCannotShowACertificateToTheLeader() {
    controller.follow(URI.create("https://127.0.0.1:1"));
    HttpClient certified = HttpClient.newBuilder().sslContext(api.trust(agent)).build();
    String own = report(1, version, "10.2.0.7", service("web", 12)).encode();
    HttpResponse<String> refused = send(certified, "POST", "/v1/agent/reports", own, "");
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(new JsonObject(refused.body()).getString("allowed"))
        .contains("the leader itself at https://127.0.0.1:1");
  }

  private HttpResponse<String> packed(byte[] body, String coding) {
    return send(
        http,
        HttpRequest.newBuilder(URI.create(server.url(Optional.empty()) + "/v1/agent/reports"))
            .header("Content-Type", "application/json")
            .header("Content-Encoding", coding)
            .header("Authorization", "Bearer " + SEVEN)
            .POST(HttpRequest.BodyPublishers.ofByteArray(body))
            .build());
  }

  @Test
  void aReportMayBeCompressedAndIsBoundedBeforeThat() {
    byte[] body = gzip(report(1, version, "10.2.0.7", service("web", 12)).encode());
    assertThat(packed(body, "gzip").statusCode()).isEqualTo(200);
    assertThat(packed(body, "br").statusCode()).isEqualTo(415);
    assertThat(packed(body, "identity").statusCode()).isEqualTo(400);
    assertThat(packed(Arrays.copyOf(body, body.length - 9), "gzip").statusCode()).isEqualTo(400);
    assertThat(packed(new byte[0], "gzip").statusCode()).isEqualTo(400);
    String spaces = " ".repeat((16 << 20));
    assertThat(packed(gzip(spaces + "{}"), "gzip").statusCode()).isEqualTo(413);
    assertThat(packed(gzip(spaces.substring(2) + "{}"), "gzip").statusCode()).isEqualTo(400);
  }
}
