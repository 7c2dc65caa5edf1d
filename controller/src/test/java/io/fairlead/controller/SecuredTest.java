// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.http.Certificate;
import io.fairlead.controller.http.Endpoint;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
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
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.NoAuthException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Everything protected at once, as processes: TLS, tokens, and a ZooKeeper that requires logins.
 */
@Timeout(300)
class SecuredTest {
  private static final String WEB = "/v1/services/web";
  private static final String ADA = "ada-0123456789abcdef";
  private static final String OTTO = "otto-0123456789abcdef";
  private static final String CONTROLLERS = "controllers:the-controllers-password";
  private static final String MUXES = "muxes:the-muxes-password";
  private static final String SPEC =
      """
      {"name":"%s","vips":["%s"],"buckets":256,"ports":[{"protocol":"tcp","port":80}],
       "vipRanges":["10.99.0.0/16"]%s}\
      """;
  private static final String BY_AGENTS = ",\"steering\":\"maat\",\"maat\":{\"load\":\"agents\"}";

  /** Loads that a leader wrote to an open tree, and to a protected one. */
  private static final List<String> LOADS =
      List.of("/fairlead/services/older/loads", "/fairlead/services/newer/loads");

  private static final List<String> SECRETS =
      List.of("/fairlead/audit", "/fairlead/answers", "/fairlead/election");

  private static final List<String> CREATED =
      List.of(
          "/fairlead/services/mine",
          "/fairlead/muxes/mux2",
          "/fairlead/health/mux2",
          "/fairlead/muxes/mux1/live");

  @TempDir private Path directory;
  private HttpClient http;

  private HttpResponse<String> send(
      Endpoint at, String token, String method, String path, String body)
      throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create("https://" + at + path))
            .timeout(Duration.ofSeconds(40))
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer " + token)
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void aWriteGoesByWayOfAFollowerUnderItsCallersName() throws Exception {
    Certificate certificate = Certificate.make(directory, "controllers");
    http = HttpClient.newBuilder().sslContext(certificate.trust()).build();
    String[] flags = {
      "--tls-cert=" + certificate.pem(),
      "--tls-key=" + certificate.key(),
      "--tls-ca=" + certificate.pem(),
      "--tokens=" + secret("tokens", "ada admin plain:" + ADA, "otto operator=web plain:" + OTTO),
      "--zookeeper-auth=" + secret("login", CONTROLLERS, MUXES),
    };
    try (TestingServer zookeeper = TestZooKeeper.start()) {
      String connect = zookeeper.getConnectString();
      beforeItWasProtected(connect);
      try (ControllerProcess leader = ControllerProcess.join(directory, connect, flags);
          ControllerProcess follower = ControllerProcess.join(directory, connect, flags)) {
        assertThat(leader.epoch()).isPositive();
        assertThat(follower.epoch()).as("follows").isZero();
        String backend = "{\"address\":\"10.1.0.21\"}";
        assertThat(send(follower.api(), "", "PUT", WEB + "/backends/1", backend).statusCode())
            .isEqualTo(401);
        assertThat(send(follower.api(), OTTO, "DELETE", WEB, "").statusCode()).isEqualTo(403);
        assertThat(send(follower.api(), OTTO, "PUT", WEB + "/backends/1", backend).statusCode())
            .isEqualTo(201);
        assertThat(send(follower.api(), OTTO, "GET", WEB, "").body()).contains("\"backends\":1");
        JsonArray records = new JsonArray(send(follower.api(), ADA, "GET", "/v1/audit", "").body());
        JsonObject last = records.getJsonObject(0);
        assertThat(last.getString("who")).isEqualTo("otto");
        assertThat(last.getString("what")).isEqualTo("PUT " + WEB + "/backends/1");
        String newer = SPEC.formatted("newer", "10.99.0.3", BY_AGENTS);
        assertThat(send(follower.api(), ADA, "POST", "/v1/services", newer).statusCode())
            .isEqualTo(201);
        awaitLoads(connect, MUXES, LOADS.get(1));
        checkZooKeeper(connect, "another:user", MUXES);
      }
      secret("login", "controllers:another-password", "muxes:another-password", CONTROLLERS);
      try (ControllerProcess renewed = ControllerProcess.join(directory, connect, flags)) {
        assertThat(send(renewed.api(), OTTO, "GET", WEB, "").body()).contains("\"backends\":1");
        checkZooKeeper(connect, MUXES, "muxes:another-password");
      }
    }
  }

  /** Services from before logins were set: their nodes must be protected as well. */
  private void beforeItWasProtected(String connect) throws Exception {
    try (ControllerProcess open = ControllerProcess.join(directory, connect, "--open")) {
      create(open.api(), SPEC.formatted("web", "10.99.0.1", ""));
      addMux(open.api());
      create(open.api(), SPEC.formatted("older", "10.99.0.2", BY_AGENTS));
      awaitLoads(connect, "another:user", LOADS.get(0));
      assertThat(open.terminate()).isEqualTo(143);
    }
  }

  private static void create(Endpoint at, String spec) throws IOException, InterruptedException {
    HttpResponse<String> created =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create("http://" + at + "/v1/services"))
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(spec))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    assertThat(created.statusCode()).isEqualTo(201);
  }

  /** In a cluster without logins, so it gets none. */
  private static void addMux(Endpoint at) throws IOException, InterruptedException {
    HttpResponse<String> added =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create("http://" + at + "/v1/muxes/mux1"))
                    .header("Content-Type", "application/json")
                    .PUT(HttpRequest.BodyPublishers.ofString("{}"))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    assertThat(added.statusCode()).isEqualTo(201);
    assertThat(added.body()).isEqualTo("{\"id\":\"mux1\",\"needsLogin\":false}");
  }

  /** Until the leader has written a service's loads: 10 s after its start if no agent reports. */
  private static void awaitLoads(String connect, String login, String path) {
    try (CuratorFramework client = client(connect, login)) {
      await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> client.checkExists().forPath(path) != null);
    }
  }

  private static void checkZooKeeper(String connect, String stranger, String muxes)
      throws Exception {
    try (CuratorFramework other = client(connect, stranger);
        CuratorFramework mux = client(connect, muxes)) {
      String config = "/fairlead/services/web/config";
      String latest = "/fairlead/services/web/ring/latest_gen";
      List<String> read = new ArrayList<>(LOADS);
      read.addAll(List.of("/fairlead/services", config, latest, "/fairlead/epoch"));
      for (String path : read) {
        assertThatThrownBy(() -> other.getData().forPath(path))
            .as(path)
            .isInstanceOf(NoAuthException.class);
        assertThat(mux.getData().forPath(path)).isNotNull();
        assertThatThrownBy(() -> mux.setData().forPath(path, new byte[0]))
            .as(path)
            .isInstanceOf(NoAuthException.class);
      }
      for (String path : SECRETS) {
        assertThatThrownBy(() -> mux.getChildren().forPath(path))
            .as(path)
            .isInstanceOf(NoAuthException.class);
      }
      for (CuratorFramework each : List.of(mux, other)) {
        for (String path : CREATED) {
          assertThatThrownBy(() -> each.create().withMode(CreateMode.EPHEMERAL).forPath(path))
              .as(path)
              .isInstanceOf(NoAuthException.class);
        }
      }
      await().until(() -> mux.checkExists().forPath("/fairlead/leader") != null);
    }
  }

  private static CuratorFramework client(String connect, String login) {
    CuratorFramework client =
        CuratorFrameworkFactory.builder()
            .connectString(connect)
            .retryPolicy(new RetryOneTime(100))
            .authorization("digest", login.getBytes(StandardCharsets.UTF_8))
            .build();
    client.start();
    return client;
  }

  private Path secret(String name, String... lines) throws IOException {
    Path path = Files.writeString(directory.resolve(name), String.join("\n", lines));
    return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
  }
}
