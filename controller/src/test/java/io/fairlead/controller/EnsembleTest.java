// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.http.Endpoint;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingCluster;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Controllers as processes of their own on a real ensemble of three, through everything that the
 * documentation promises to survive.
 */
@Timeout(400)
class EnsembleTest {
  private static final String WEB = "/v1/services/web";

  /** Of a controller; ZooKeeper notices at most one tick later. */
  private static final Duration SESSION = Duration.ofSeconds(6);

  private static final Duration SLOW_MACHINE = Duration.ofSeconds(20);

  private final HttpClient http =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();

  @TempDir private Path directory;

  private record Reply(int status, String body, HttpResponse<String> response) {
    JsonObject json() {
      return new JsonObject(body);
    }
  }

  private Reply send(Endpoint at, String method, String path, String body, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://%s%s".formatted(at, path)))
            .timeout(Duration.ofSeconds(40))
            .header("Authorization", "Bearer " + ControllerProcess.token(directory))
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (!body.isEmpty()) {
      request.header("Content-Type", "application/json");
    }
    if (headers.length > 0) {
      request.headers(headers);
    }
    HttpResponse<String> response =
        http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    return new Reply(response.statusCode(), response.body(), response);
  }

  private Reply get(Endpoint at, String path) throws IOException, InterruptedException {
    return send(at, "GET", path, "");
  }

  private void create(Endpoint at) throws IOException, InterruptedException {
    String spec =
        "{"
            + Ranges.FIELD
            + ",\"name\":\"web\",\"vips\":[\"10.99.0.1\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],"
            + "\"buckets\":256}";
    assertThat(send(at, "POST", "/v1/services", spec).status()).isEqualTo(201);
  }

  private static String weight(int weight) {
    return "{\"address\":\"10.1.0.21\",\"weight\":%d}".formatted(weight);
  }

  private boolean leads(Endpoint at) {
    try {
      return get(at, "/healthz").json().getBoolean("leader");
    } catch (IOException | InterruptedException e) {
      return false;
    }
  }

  @Test
  void aLeaderThatWasStoppedAndReplacedCommitsNothing() throws Exception {
    try (TestingCluster zookeeper = TestZooKeeper.ensemble(3);
        ControllerProcess first = join(zookeeper);
        ControllerProcess second = join(zookeeper)) {
      assertThat(first.epoch()).isEqualTo(1);
      assertThat(second.epoch()).as("follows").isZero();
      create(second.api()); // forwarded to the leader
      assertThat(send(second.api(), "PUT", WEB + "/backends/1", weight(1)).status()).isEqualTo(201);
      first.signal("STOP");
      long stopped = System.nanoTime();
      List<CompletableFuture<Reply>> waiting =
          IntStream.range(0, 6).mapToObj(i -> waiting(first.api(), 100 + i)).toList();
      await().atMost(SESSION.plus(SLOW_MACHINE)).until(() -> leads(second.api()));
      System.out.printf(
          "EnsembleTest: replaced after %.1f s%n", (System.nanoTime() - stopped) / 1e9);
      assertThat(send(second.api(), "PUT", WEB + "/backends/1", weight(2)).status()).isEqualTo(200);
      first.signal("CONT");
      for (CompletableFuture<Reply> each : waiting) {
        Reply reply = each.join();
        if (reply.status() == 503) {
          assertThat(reply.response().headers().firstValue("Retry-After")).contains("2");
        } else { // it already knew the leader and forwarded the request
          assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        }
      }
      await().atMost(SLOW_MACHINE).until(() -> !leads(first.api()));
      String leader = "http://" + second.api();
      await()
          .atMost(SLOW_MACHINE)
          .until(() -> leader.equals(get(first.api(), "/healthz").json().getString("leaderUrl")));
      JsonArray records = new JsonArray(get(first.api(), "/v1/audit").body());
      List<Long> epochs =
          records.stream().map(record -> ((JsonObject) record).getLong("epoch")).toList();
      assertThat(epochs.subList(epochs.size() - 2, epochs.size())).containsExactly(1L, 1L);
      assertThat(epochs.subList(0, epochs.size() - 2)).isNotEmpty().containsOnly(2L);
      assertThat(get(first.api(), WEB).body()).isEqualTo(get(second.api(), WEB).body());
    }
  }

  /** A write to a stopped process. */
  private CompletableFuture<Reply> waiting(Endpoint at, int weight) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return send(at, "PATCH", WEB + "/backends/1", "{\"weight\":%d}".formatted(weight));
          } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
          }
        },
        task -> new Thread(task).start());
  }

  @Test
  void everyAcknowledgedWriteIsThereInOrderAndOnceThroughRollingRestarts() throws Exception {
    List<ControllerProcess> controllers = new ArrayList<>();
    try (TestingCluster zookeeper = TestZooKeeper.ensemble(3)) {
      for (int i = 0; i < 3; i++) {
        controllers.add(join(zookeeper));
      }
      create(controllers.get(0).api());
      Stream stream = new Stream(() -> List.copyOf(controllers));
      stream.awaitWrites(5);
      for (int i = 0; i < 3; i++) {
        // In order or not, and the leader is among them.
        ControllerProcess old = controllers.get(i);
        int code = i == 1 ? old.kill() : old.terminate();
        assertThat(code).isEqualTo(i == 1 ? 137 : 143);
        stream.awaitWrites(5);
        controllers.set(i, join(zookeeper));
      }
      for (InstanceSpec spec : List.copyOf(zookeeper.getInstances())) {
        zookeeper.killServer(spec);
        stream.awaitWrites(5);
        assertThat(zookeeper.restartServer(spec)).isTrue();
        stream.awaitWrites(5);
      }
      List<Integer> generations = stream.end();
      System.out.printf(
          "EnsembleTest: %d writes, %d attempts, the longest took %.1f s%n",
          generations.size(), stream.attempts.get(), stream.longest / 1e9);
      assertThat(generations)
          .containsExactlyElementsOf(IntStream.range(2, generations.size() + 2).boxed().toList());
      for (ControllerProcess each : controllers) {
        awaitGeneration(each, generations.size() + 1);
      }
      JsonArray records =
          new JsonArray(get(controllers.get(0).api(), "/v1/audit?limit=1000").body());
      assertThat(records).hasSize(generations.size() + 1);
      for (int i = 0; i < records.size(); i++) {
        assertThat(records.getJsonObject(i).getInteger("generation")).isEqualTo(records.size() - i);
      }
    } finally {
      controllers.forEach(ControllerProcess::close);
    }
  }

  /** Writes one after the other; each is repeated under its key until it is acknowledged. */
  private final class Stream {
    private final Supplier<List<ControllerProcess>> controllers;
    private final List<Integer> generations = new ArrayList<>();
    private final AtomicInteger acknowledged = new AtomicInteger();
    private final AtomicInteger attempts = new AtomicInteger();
    private final AtomicBoolean isEnding = new AtomicBoolean();
    private final CompletableFuture<Void> done;
    private volatile long longest;

    Stream(Supplier<List<ControllerProcess>> controllers) {
      this.controllers = controllers;
      this.done = CompletableFuture.runAsync(this::run, task -> new Thread(task, "stream").start());
    }

    private void run() {
      while (!isEnding.get()) {
        int number = generations.size() + 1;
        long begun = System.nanoTime();
        generations.add(write(number));
        longest = Math.max(longest, System.nanoTime() - begun);
        acknowledged.incrementAndGet();
      }
    }

    private int write(int number) {
      while (true) {
        List<ControllerProcess> all = controllers.get();
        Endpoint at = all.get(attempts.getAndIncrement() % all.size()).api();
        try {
          Reply reply =
              send(
                  at,
                  "PUT",
                  WEB + "/backends/1",
                  weight(1 + number % 1000),
                  "Idempotency-Key",
                  "write-" + number);
          if (reply.status() == 200 || reply.status() == 201) {
            return reply.json().getInteger("generation");
          }
          assertThat(reply.status()).as(reply.body()).isEqualTo(503);
          Thread.sleep(50); // between attempts, as any client would
        } catch (IOException e) {
          continue; // the answer is lost, which is what the key is for
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
    }

    void awaitWrites(int more) {
      int target = acknowledged.get() + more;
      await()
          .atMost(SESSION.plus(SLOW_MACHINE).plus(SLOW_MACHINE))
          .until(() -> acknowledged.get() >= target || done.isCompletedExceptionally());
      if (done.isCompletedExceptionally()) {
        done.join();
      }
    }

    List<Integer> end() {
      isEnding.set(true);
      done.join();
      return generations;
    }
  }

  @Test
  void withoutAQuorumReadsGoOnAndWritesAreRefusedUntilItIsBack() throws Exception {
    try (TestingCluster zookeeper = TestZooKeeper.ensemble(3);
        ControllerProcess first = join(zookeeper);
        ControllerProcess second = join(zookeeper)) {
      create(first.api());
      assertThat(send(second.api(), "PUT", WEB + "/backends/1", weight(1)).status()).isEqualTo(201);
      List<InstanceSpec> specs = List.copyOf(zookeeper.getInstances());
      zookeeper.killServer(specs.get(0));
      await().atMost(SESSION.plus(SLOW_MACHINE)).until(() -> put(first, 2) == 200);
      awaitGeneration(second, 3); // a follower can serve only what it has read by then
      zookeeper.killServer(specs.get(1));
      for (ControllerProcess each : List.of(first, second)) {
        await().atMost(SLOW_MACHINE).until(() -> put(each, 3) == 503);
        Reply refused = send(each.api(), "PUT", WEB + "/backends/1", weight(3));
        assertThat(refused.status()).isEqualTo(503);
        assertThat(refused.response().headers().firstValue("Retry-After")).contains("2");
        assertThat(refused.json().getString("allowed")).contains("try again");
        assertThat(get(each.api(), WEB).json().getInteger("generation")).isEqualTo(3);
        assertThat(get(each.api(), "/healthz").status()).isEqualTo(200);
      }
      assertThat(zookeeper.restartServer(specs.get(0))).isTrue();
      for (ControllerProcess each : List.of(first, second)) {
        await().atMost(SESSION.plus(SLOW_MACHINE)).until(() -> put(each, 4) == 200);
      }
    }
  }

  /** A follower learns of a commit a little later than the leader's client. */
  private void awaitGeneration(ControllerProcess at, int generation) {
    await()
        .atMost(SLOW_MACHINE)
        .untilAsserted(
            () ->
                assertThat(get(at.api(), WEB).json().getInteger("generation"))
                    .isEqualTo(generation));
  }

  private int put(ControllerProcess at, int weight) throws IOException, InterruptedException {
    return send(at.api(), "PUT", WEB + "/backends/1", weight(weight)).status();
  }

  @Test
  void anOrderlyStopHandsOverAtOnce() throws Exception {
    try (TestingCluster zookeeper = TestZooKeeper.ensemble(3);
        ControllerProcess first = join(zookeeper);
        ControllerProcess second = join(zookeeper)) {
      create(second.api());
      long begun = System.nanoTime();
      Optional.of(first.terminate()).ifPresent(code -> assertThat(code).isEqualTo(143));
      await().atMost(SESSION).until(() -> leads(second.api()));
      System.out.printf(
          "EnsembleTest: handed over within %.1f s%n", (System.nanoTime() - begun) / 1e9);
      assertThat(send(second.api(), "PUT", WEB + "/backends/1", weight(1)).status()).isEqualTo(201);
    }
  }

  private ControllerProcess join(TestingCluster zookeeper) throws IOException {
    return ControllerProcess.join(directory, zookeeper.getConnectString());
  }
}
