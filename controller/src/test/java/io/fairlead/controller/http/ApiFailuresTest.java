// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.util.concurrent.Uninterruptibles;
import io.fairlead.controller.http.ApiClient.Reply;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Failures that no single row of a table can show: sizes, broken HTTP, an outage, a defect. */
class ApiFailuresTest extends ServedApi {
  private static final String WEB = "/v1/services/web";
  private static final int CHANGES_MAX = 65535;
  private static final int KNOWN = 4000;

  @BeforeEach
  void open() {
    String web =
        "{\"name\":\"web\",\"vips\":[\"10.99.0.1\"],\"buckets\":256,"
            + "\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";
    assertThat(client.send("POST", "/v1/services", web).status()).isEqualTo(201);
    client.send("PUT", WEB + "/backends/4000", "{\"address\":\"10.1.0.27\"}");
  }

  @Test
  void malformedJsonIsLocated() {
    Reply reply = client.send("PATCH", WEB, "{\n  \"vips\": [\"10.99.0.1\"\n");
    assertThat(reply.json().getString("detail")).contains("line 3").doesNotContain("Source");
  }

  @Test
  void aBodyOverTheLimitIsRefused() throws IOException {
    String limit = Integer.toString(Contract.BODY_LIMIT);
    String announced =
        raw(
            "PATCH "
                + WEB
                + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                + "Content-Type: application/json\r\nContent-Length: 1048577\r\n\r\n{");
    assertThat(announced).startsWith("HTTP/1.1 413 ").contains("1048577 bytes", limit);
    String whole =
        raw(
            "PATCH "
                + WEB
                + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                + "Content-Length: 2097152\r\n\r\n"
                + "x".repeat(2 * Contract.BODY_LIMIT));
    assertThat(whole).as("to a client that reads once it has sent").startsWith("HTTP/1.1 413 ");
    Reply sent = client.send("PATCH", WEB, '"' + "x".repeat(Contract.BODY_LIMIT) + '"');
    assertThat(sent.status()).isEqualTo(413);
    assertThat(sent.json().getString("field")).isEqualTo("body");
    assertThat(sent.json().getString("allowed")).contains(limit);
  }

  @Test
  void aChangeOfEveryBackendIsTakenAndOneMoreIsRefused() {
    StringBuilder body = new StringBuilder("{\"changes\":[");
    for (int id = 1; id <= CHANGES_MAX; id++) {
      String op =
          id == KNOWN
              ? "{\"op\":\"weight\",\"id\":%d,\"weight\":7}"
              : "{\"op\":\"add\",\"id\":%d,\"address\":\"fd00::%x\"}";
      body.append(id == 1 ? "" : ",").append(op.formatted(id, id));
    }
    Reply reply = client.send("POST", "/v1/services/web/changes?dryRun=true", body + "]}");
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.json().getJsonArray("shares")).hasSize(CHANGES_MAX);
    body.append(",{\"op\":\"remove\",\"id\":1}");
    Reply refused = client.send("POST", "/v1/services/web/changes", body + "]}");
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.json().getString("field")).isEqualTo("changes");
    assertThat(refused.json().getString("value"))
        .isEqualTo("more than " + CHANGES_MAX + " entries");
  }

  @Test
  void whatIsNoHttpIsRefusedAsAProblem() throws IOException {
    String end = " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n";
    record Case(String request, int status, String word) {}
    for (Case row :
        List.of(
            new Case("hello\r\n\r\n", 400, "not an HTTP request: the first line"),
            new Case("GET /v1/services/%zz" + end + "\r\n", 400, "two hex digits"),
            new Case("GET /" + "a".repeat(5000) + end + "\r\n", 414, "line is too long"),
            new Case("GET /" + end + "A: " + "a".repeat(9000) + "\r\n\r\n", 431, "headers"))) {
      assertThat(raw(row.request()))
          .matches("(?s)HTTP/1\\.[01] " + row.status() + " .*")
          .containsIgnoringCase("content-type: application/problem+json")
          .contains(row.word());
    }
  }

  /** Reads of services wait for ZooKeeper on worker threads, of which there are eight. */
  @Test
  void healthIsAnsweredFromWhatIsKnownWhileAllWorkersWait() throws Exception {
    int workers = 8;
    CountDownLatch waiting = new CountDownLatch(workers);
    CountDownLatch go = new CountDownLatch(1);
    controller
        .plane()
        .whenRead(
            () -> {
              waiting.countDown();
              Uninterruptibles.awaitUninterruptibly(go);
            });
    ExecutorService readers = Executors.newFixedThreadPool(workers + 1);
    try {
      for (int reader = 0; reader <= workers; reader++) {
        readers.submit(() -> client.get("/v1/services"));
      }
      assertThat(waiting.await(30, TimeUnit.SECONDS)).isTrue();
      assertThat(client.get("/healthz").json().getBoolean("leader")).isTrue();
      assertThat(client.get("/openapi.json").status()).isEqualTo(200);
    } finally {
      controller.plane().whenRead(() -> {});
      go.countDown();
      readers.shutdown();
      assertThat(readers.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void whatIsNotConfirmedIsNotReadWithNoCache() {
    String[] confirmed = {"Cache-Control", "max-age=0, No-Cache"};
    for (String path : List.of(WEB, WEB + "/backends", "/v1/services")) {
      assertThat(client.get(path, confirmed).status()).isEqualTo(200);
    }
    controller.disconnect();
    for (String path : List.of(WEB, WEB + "/backends", "/v1/services")) {
      assertThat(client.get(path, confirmed).status()).isEqualTo(503);
      assertThat(client.get(path).status()).isEqualTo(200);
    }
    assertThat(client.get("/healthz", confirmed).status()).isEqualTo(200);
    controller.reconnect();
    assertThat(client.get(WEB, confirmed).status()).isEqualTo(200);
  }

  @Test
  void whileZooKeeperIsAwayWritesAreUnavailableAndReadsAreServed() {
    var before = controller.state();
    controller.disconnect();
    try {
      record Write(String method, String path, String body) {}
      for (Write write :
          List.of(
              new Write(
                  "POST",
                  "/v1/services",
                  new JsonObject()
                      .put("name", "new")
                      .put("vips", List.of("10.99.0.9"))
                      .put("ports", List.of(new JsonObject("{\"protocol\":\"udp\",\"port\":53}")))
                      .encode()),
              new Write("PATCH", WEB, "{\"windowSeconds\":10}"),
              new Write("DELETE", WEB, ""),
              new Write("PUT", WEB + "/backends/8", "{\"address\":\"10.1.0.28\"}"),
              new Write("PATCH", WEB + "/backends/4000", "{\"weight\":0}"),
              new Write("DELETE", WEB + "/backends/4000", ""),
              new Write(
                  "POST", WEB + "/changes", "{\"changes\":[{\"op\":\"remove\",\"id\":4000}]}"))) {
        Reply reply = client.send(write.method(), write.path(), write.body());
        assertThat(reply.status()).as(write.toString()).isEqualTo(503);
        assertThat(reply.json().getString("field")).isEqualTo("zookeeper");
        assertThat(reply.json().getString("allowed"))
            .isEqualTo("to try again; nothing was written");
        assertThat(reply.header("Retry-After")).isEqualTo("2");
      }
      assertThat(client.get(WEB).status()).isEqualTo(200);
      assertThat(client.get("/healthz").status()).isEqualTo(200);
      assertThat(client.get("/healthz").json().getString("zookeeper")).isEqualTo("suspended");
    } finally {
      controller.reconnect();
    }
    assertThat(controller.state()).isEqualTo(before);
  }

  @Test
  void aDefectIsAProblemThatKeepsTheInsideToItself() {
    controller
        .plane()
        .meanwhile(
            () -> {
              throw new IllegalStateException("secret of the inside");
            });
    Reply reply = client.get(WEB);
    assertThat(reply.status()).isEqualTo(500);
    assertThat(reply.header("Content-Type")).isEqualTo("application/problem+json");
    assertThat(reply.body()).doesNotContain("secret", "Exception");
    assertThat(client.get(WEB).status()).isEqualTo(200);
  }

  private String raw(String request) throws IOException {
    Endpoint listen = server.listen();
    try (Socket socket = new Socket(listen.host(), listen.port())) {
      socket.setSoTimeout(10_000);
      OutputStream out = socket.getOutputStream();
      out.write(request.getBytes(StandardCharsets.US_ASCII));
      out.flush();
      InputStream in = socket.getInputStream();
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
