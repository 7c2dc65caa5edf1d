// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static io.fairlead.controller.resources.agents.AgentRequests.report;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.secret.SecretFile;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What many connections can make a controller hold. */
@Timeout(240)
class IntakeTest {
  private static final String ADMIN = "ada-0123456789abcdef";
  private static final String OTHER = "bob-0123456789abcdef";
  private static final Duration SOON = Duration.ofSeconds(60);
  private static final int SILENT_MILLIS = 15_000;

  @TempDir private Path directory;
  private final PrometheusMeterRegistry metrics =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final List<Socket> sockets = new ArrayList<>();
  private final CountDownLatch latch = new CountDownLatch(1);
  private final Semaphore begun = new Semaphore(0);
  @AutoClose private final MemoryController controller = new MemoryController();
  private ApiServer server;

  @BeforeEach
  void serve() throws IOException {
    Path tokens =
        Files.write(
            directory.resolve("tokens"),
            List.of(
                "ada admin plain:" + ADMIN,
                "bob admin plain:" + OTHER,
                "s0 server=10.1.0.1 plain:" + token(0),
                "s1 server=10.1.0.2 plain:" + token(1),
                "s2 server=10.1.0.3 plain:" + token(2)));
    Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
    Security security =
        new Security(
            Optional.empty(),
            Optional.empty(),
            Optional.of(new SecretFile("--tokens", tokens)),
            true);
    Resource slow =
        routes ->
            routes.submit("postAgentReport", Map.class, (sender, report) -> work(), (s, e) -> {});
    server = controller.serve(security, List.of(slow), metrics);
  }

  @AfterEach
  void end() throws IOException {
    latch.countDown();
    for (Socket socket : sockets) {
      socket.close();
    }
    server.close();
  }

  private Answer work() {
    begun.release();
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return Answer.ok(Map.of());
  }

  private static String token(int agent) {
    return "agent-%d-0123456789abcdef".formatted(agent);
  }

  private Socket open(String method, String path, String token, int length, String body)
      throws IOException {
    Socket socket = new Socket(server.listen().host(), server.listen().port());
    sockets.add(socket);
    socket.setSoTimeout(SILENT_MILLIS);
    String head =
        "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
            .formatted(method, path, token);
    String rest = "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n".formatted(length);
    socket.getOutputStream().write((head + rest + body).getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  /** Its status and the problem's detail. */
  private static String answer(Socket socket) throws IOException {
    try (socket) {
      byte[] bytes = new byte[4096];
      int length = socket.getInputStream().read(bytes);
      String text = new String(bytes, 0, Math.max(0, length), StandardCharsets.UTF_8);
      int json = text.indexOf("\r\n\r\n{");
      return text.substring("HTTP/1.1 ".length(), "HTTP/1.1 200".length())
          + (json < 0 ? "" : " " + new JsonObject(text.substring(json)).getString("detail", ""));
    } catch (SocketTimeoutException e) {
      return "silent";
    }
  }

  private String post(int agent) throws IOException {
    String body = report(1, "x", "10.1.0.1").encode();
    return answer(open("POST", "/v1/agent/reports", token(agent), body.length(), body));
  }

  @ParameterizedTest
  @CsvSource({"GET, /healthz", "GET, /v1/services", "DELETE, /v1/services/web"})
  void whatNoOperationReadsIsRefusedUnread(String method, String path) throws IOException {
    assertThat(answer(open(method, path, ADMIN, 65_536, "x".repeat(1000))))
        .isEqualTo("400 body '65536 bytes' is refused; allowed: no body of this operation");
  }

  /** Each byte began a new wait of two minutes. */
  @Test
  void aHeadThatComesByteByByteHasADeadline() throws Exception {
    Socket silent = new Socket(server.listen().host(), server.listen().port());
    Socket slow = new Socket(server.listen().host(), server.listen().port());
    sockets.addAll(List.of(silent, slow));
    slow.getOutputStream().write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ".getBytes());
    await()
        .atMost(SOON)
        .pollInterval(Duration.ofSeconds(1))
        .until(() -> closed("head") == 2 || !isTaken(slow));
    await().atMost(SOON).until(() -> closed("head") == 2);
    for (Socket socket : List.of(silent, slow)) {
      socket.setSoTimeout(SILENT_MILLIS);
      assertThat(isEnded(socket)).isTrue();
    }
  }

  private double closed(String limit) {
    return metrics.counter("fairlead.controller.http.connections.closed", "limit", limit).count();
  }

  private static boolean isTaken(Socket socket) {
    try {
      socket.getOutputStream().write('x');
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private static boolean isEnded(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (IOException e) {
      return true; // reset
    }
  }

  /** Thirty-two kept out all others. */
  @Test
  void whatIsOnlyAnnouncedKeepsNobodyOut() throws IOException {
    for (int i = 0; i < 40; i++) {
      open("POST", "/v1/services", ADMIN, 1 << 20, "");
    }
    String body = "{\"a\":1" + " ".repeat(70_000) + "}";
    assertThat(answer(open("POST", "/v1/services", ADMIN, body.length(), body))).startsWith("400 ");
  }

  @Test
  void everyByteThatArrivesCountsForItsCaller() throws IOException {
    int bytes = 60_000;
    long share = Intake.OTHERS_BYTES / 4;
    for (long sent = 0; sent <= share; sent += bytes) {
      open("POST", "/v1/services", ADMIN, 65_536, "x".repeat(bytes));
    }
    await()
        .atMost(SOON)
        .until(
            () -> metrics.counter("fairlead.controller.http.busy", "limit", "caller").count() > 0);
    assertThat(answer(open("POST", "/v1/services", OTHER, 2, "{}"))).startsWith("400 ");
    for (Socket socket : sockets) {
      socket.close();
    }
    await()
        .atMost(SOON)
        .until(() -> answer(open("POST", "/v1/services", ADMIN, 2, "{}")).startsWith("400 "));
  }

  /** Before, its place was free as soon as its sender had gone. */
  @Test
  void aReportKeepsItsPlaceUntilTheWorkOnItEnds() throws Exception {
    String body = report(1, "x", "10.1.0.1").encode();
    List<Socket> first = new ArrayList<>();
    for (int agent = 0; agent < 3; agent++) {
      first.add(open("POST", "/v1/agent/reports", token(agent), body.length(), body));
    }
    begun.acquire(2);
    for (int agent = 0; agent < 3; agent++) {
      int of = agent;
      await().atMost(SOON).until(() -> post(of).startsWith("503 "));
    }
    for (Socket socket : first) {
      socket.close();
    }
    for (int i = 0; i < 4; i++) {
      for (int agent = 0; agent < 3; agent++) {
        assertThat(post(agent)).startsWith("503 body: another report of the server is in flight");
      }
    }
    latch.countDown();
    await()
        .atMost(SOON)
        .until(() -> metrics.counter("fairlead.controller.http.abandoned").count() == 1);
    assertThat(begun.availablePermits()).as("reports worked on besides two").isZero();
    await().atMost(SOON).until(() -> post(2).startsWith("200"));
  }
}
