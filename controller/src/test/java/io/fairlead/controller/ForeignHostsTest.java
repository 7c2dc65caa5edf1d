// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.resources.muxes.Muxes;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
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
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.apache.curator.framework.AuthInfo;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A controller as a process, and nodes in ZooKeeper that name hosts of a stranger: it neither sends
 * anything there nor lets its console or Prometheus do so.
 */
@Timeout(300)
class ForeignHostsTest {
  private static final String ADA = "ada-0123456789abcdef";
  private static final String CONTROLLERS = "controllers:the-controllers-password";
  private static final String READERS = "readers:the-readers-password";
  private static final String STRANGERS = "stranger:any-password";
  private static final Duration SEEN = Duration.ofSeconds(60);

  /** The console's list of controllers is read for the first time after a second. */
  private static final Duration LEARNED = Duration.ofSeconds(3);

  @TempDir private Path directory;
  private final List<CuratorFramework> sessions = new ArrayList<>();
  private final CopyOnWriteArrayList<String> received = new CopyOnWriteArrayList<>();
  private final HttpClient http = HttpClient.newHttpClient();
  private HttpServer evil;

  @BeforeEach
  void listen() throws IOException {
    evil = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    evil.createContext(
        "/",
        exchange -> {
          received.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
          byte[] page = "<script>alert(1)</script>".getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().add("Content-Type", "text/html");
          exchange.sendResponseHeaders(200, page.length);
          exchange.getResponseBody().write(page);
          exchange.close();
        });
    evil.start();
  }

  @AfterEach
  void stop() {
    sessions.forEach(CuratorFramework::close);
    evil.stop(0);
  }

  /** Anyone may write the nodes of such a tree, so a controller with tokens does not serve it. */
  @Test
  void anOpenTreeNamesNoHost() throws Exception {
    try (TestingServer zookeeper = TestZooKeeper.start();
        CuratorFramework stranger = client(zookeeper, STRANGERS)) {
      String id = "evil/" + at();
      stranger.create().creatingParentsIfNeeded().forPath("/fairlead/election/x", utf8(id));
      ControllerProcess.Failed failed =
          ControllerProcess.fail(directory, zookeeper.getConnectString(), tokens());
      assertThat(failed.err())
          .contains("/fairlead in ZooKeeper is in use, and open to each of its clients; allowed:");
      assertThat(received).isEmpty();
    }
  }

  /** A mux can write its own node alone, and there names a host that is not its own. */
  @Test
  void aMuxNamesNoHostButItsOwn() throws Exception {
    try (TestingServer zookeeper = TestZooKeeper.start();
        ControllerProcess controller =
            ControllerProcess.join(
                directory,
                zookeeper.getConnectString(),
                tokens(),
                "--zookeeper-auth=" + secret("login", CONTROLLERS, READERS))) {
      Endpoint api = controller.api();
      JsonObject other = add(api, "other");
      live(
          zookeeper,
          other,
          "login",
          "/fairlead/muxes/other",
          mux("other", "10.1.0.11", "/metrics"));
      live(zookeeper, other, "probeLogin", "/fairlead/health/other", probe("other"));
      live(
          zookeeper,
          add(api, "path"),
          "login",
          "/fairlead/muxes/path",
          mux("path", "127.0.0.1", "/x"));
      live(
          zookeeper,
          add(api, "local"),
          "login",
          "/fairlead/muxes/local",
          mux("local", "127.0.0.1", "/metrics"));
      awaitMuxes(api, 3);
      for (String id : List.of("other", "path", "local")) {
        HttpResponse<String> relayed = get(api, "/v1/muxes/%s/metrics".formatted(id));
        assertThat(relayed.statusCode()).as(id).isEqualTo(409);
        assertThat(json(relayed).getString("allowed")).contains("--http", "its own address");
      }
      assertThat(targets(api, "?part=mux")).isEmpty();
      assertThat(targets(api, "?part=probe")).isEmpty();
      assertThat(targets(api, "")).doesNotContain(at());
      assertThat(received).isEmpty();
    }
  }

  private String at() {
    return "127.0.0.1:" + evil.getAddress().getPort();
  }

  private String mux(String id, String address, String path) {
    return """
    {"format":1,"id":"%s","kind":"c","version":"0.1.0","fragmentSeed":true,"address":"%s",
     "ports":["eth0"],"metrics":"http://%s%s","services":{}}
    """
        .formatted(id, address, at(), path);
  }

  private String probe(String id) {
    return """
    {"format":1,"id":"%s","version":"0.1.0","metrics":"http://%s/metrics","services":{}}
    """
        .formatted(id, at());
  }

  private void awaitMuxes(Endpoint api, int count) {
    await()
        .atMost(SEEN)
        .until(
            () ->
                new JsonArray(get(api, "/v1/muxes").body())
                        .stream().filter(mux -> ((JsonObject) mux).getBoolean("alive")).count()
                    == count);
  }

  private JsonObject add(Endpoint api, String id) throws IOException, InterruptedException {
    HttpResponse<String> added =
        http.send(
            HttpRequest.newBuilder(URI.create("http://" + api + "/v1/muxes/" + id))
                .timeout(SEEN)
                .header("Authorization", "Bearer " + ADA)
                .header("Content-Type", "application/json")
                .PUT(HttpRequest.BodyPublishers.ofString("{}"))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    assertThat(added.statusCode()).isEqualTo(201);
    return json(added);
  }

  /** Its node, by its logins, for as long as this test. */
  private void live(
      TestingServer zookeeper, JsonObject added, String logins, String entry, String node)
      throws Exception {
    String[] lines =
        added.getJsonArray(logins).stream().map(String::valueOf).toArray(String[]::new);
    CuratorFramework session = client(zookeeper, lines);
    sessions.add(session);
    Muxes.write(session, entry, node);
  }

  private List<String> targets(Endpoint api, String query)
      throws IOException, InterruptedException {
    return new JsonArray(get(api, "/v1/metrics/targets" + query).body())
        .stream()
            .map(JsonObject.class::cast)
            .map(each -> each.getJsonArray("targets").getString(0))
            .toList();
  }

  private HttpResponse<String> get(Endpoint api, String path, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://" + api + path))
            .timeout(SEEN)
            .header("Authorization", "Bearer " + ADA);
    if (headers.length > 0) {
      request.headers(headers);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private static JsonObject json(HttpResponse<String> answer) {
    return new JsonObject(answer.body());
  }

  private static String header(HttpResponse<String> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static CuratorFramework client(TestingServer zookeeper, String... logins) {
    CuratorFramework client =
        CuratorFrameworkFactory.builder()
            .connectString(zookeeper.getConnectString())
            .retryPolicy(new RetryOneTime(100))
            .authorization(
                Stream.of(logins).map(login -> new AuthInfo("digest", utf8(login))).toList())
            .build();
    client.start();
    return client;
  }

  private String tokens() throws IOException {
    return "--tokens=" + secret("tokens", "ada admin plain:" + ADA);
  }

  private Path secret(String name, String... lines) throws IOException {
    Path path = Files.writeString(directory.resolve(name), String.join("\n", lines));
    return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
  }
}
