// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.another;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Resources;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.Drain.Then;
import io.fairlead.controller.http.ApiClient;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.resources.agents.AgentRequests;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.drains.DrainView;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Drains of a live service on a real ZooKeeper, with reports over HTTP, across leaders. */
class DrainServiceTest {
  private static final long NOW = 1_700_000_000;
  private static final Duration SOON = Duration.ofSeconds(30);

  /** After a move, while no mux is known. */
  private static final int SETTLED =
      MuxPresence.BEHIND_SECONDS_DEFAULT + SettledMoves.MARGIN_SECONDS;

  /** After that, until reports count that are asked for in half a minute of the test's own time. */
  private static final int LAPSED = 130 + 30;

  private final SettableClock clock = new SettableClock(NOW);
  private TestingServer zookeeper;
  private FairleadController controller;
  private ApiServer server;
  private ApiClient api;
  private long sequence;

  /** What the agent was asked last. */
  private Optional<String> question = Optional.empty();

  @BeforeEach
  void open() throws Exception {
    zookeeper = TestZooKeeper.start();
    controller = open("first");
    lead();
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2), add(3)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
  }

  @AfterEach
  void close() throws Exception {
    server.close();
    controller.close();
    zookeeper.close();
  }

  private FairleadController open(String id) throws Exception {
    return Controllers.open(
        ControllerOptions.of(
                zookeeper.getConnectString(), FreePorts.nextAddress(), "/fairlead", id, clock)
            .withMonotonic(clock::seconds)
            .withClockCheck(false));
  }

  private void lead() throws Exception {
    assertThat(controller.awaitLeader(SOON)).isTrue();
    server =
        ApiServer.open(
            new Endpoint("127.0.0.1", 0),
            controller.plane(),
            Resources.of(controller),
            controller.metrics());
    api = new ApiClient(server.listen());
  }

  /** The leader is gone; another continues. */
  private void replaceLeader() throws Exception {
    FairleadController next = open("next");
    await().until(next::isServing);
    server.close();
    controller.close();
    controller = next;
    lead();
  }

  private void drain(Optional<Integer> deadline, Then then, Integer... ids) throws Exception {
    DrainOrder order = new DrainOrder(List.of(ids), deadline, then);
    done(controller.drains().drain("web", order, WriteOptions.COMMIT));
  }

  /** The agent of backend 2 reports. */
  private void report(long connections) {
    String version = api.get("/v1/agent/services").json().getString("version");
    JsonObject web = AgentRequests.service("web", connections).put("halfOpen", 0);
    question.ifPresent(
        name ->
            web.put(
                "answer",
                new JsonObject().put("question", name).put("connections", 0).put("buckets", "")));
    String report = AgentRequests.report(++sequence, version, "10.1.0.2", web).encode();
    ApiClient.Reply reply = api.send("POST", "/v1/agent/reports", report);
    if (reply.status() == 403 && backend(2).isEmpty()) { // removed meanwhile, and named nowhere
      return;
    }
    assertThat(reply.status()).isEqualTo(200);
    question =
        reply.json().getJsonArray("questions").stream()
            .map(asked -> ((JsonObject) asked).getString("question"))
            .findFirst();
  }

  private Optional<BackendView> backend(int id) {
    return Shown.backends(controller, "web").stream().filter(view -> view.id() == id).findFirst();
  }

  private List<DrainView> drains() {
    return controller
        .plane()
        .read("web", stored -> DrainView.of(stored.image(), controller.softState().drains()));
  }

  /** Reports count from now on. */
  private void untilCounted() {
    clock.set(clock.seconds() + SETTLED);
    await()
        .atMost(SOON)
        .until(
            () -> {
              report(1);
              return drains().get(0).now().note().contains("a SYN cookie may still come back");
            });
    clock.set(clock.seconds() + LAPSED);
  }

  private String latest() {
    return controller.audit().page(OptionalLong.empty(), 1).entries().get(0).entry().what();
  }

  @Test
  void endsWithinFiveSecondsOfTheLastConnection() throws Exception {
    drain(Optional.of(7200), Then.REMOVE, 2);
    report(2);
    assertThat(drains().get(0).now().connections()).contains(2L);
    await()
        .pollInterval(Duration.ofSeconds(1))
        .atMost(SOON)
        .until(
            () -> {
              report(1);
              String metrics = controller.metrics().scrape();
              return metrics.contains(
                  "fairlead_controller_drain_connections{backend=\"2\",service=\"web\"} 1.0");
            });
    untilCounted();
    await().during(Duration.ofSeconds(3)).atMost(SOON).until(() -> backend(2).isPresent());
    long last = System.nanoTime();
    await()
        .pollInterval(Duration.ofMillis(500))
        .atMost(SOON)
        .until(
            () -> {
              report(0);
              return backend(2).isEmpty();
            });
    assertThat(Duration.ofNanos(System.nanoTime() - last)).isLessThan(Duration.ofSeconds(5));
    assertThat(controller.audit().page(OptionalLong.empty(), 5).entries())
        .as("a report may have been refused since")
        .anyMatch(
            each ->
                each.entry()
                    .what()
                    .equals("end of drain of web: backend 2 (empty, no connection left), removed"));
    assertThat(drains().get(0).state()).isEqualTo("removed");
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_drains_ended_total{reason=\"empty\",service=\"web\"} 1.0");
    // No bucket names it any more, so nothing is reserved.
    done(controller.backends().change("web", List.of(another(2)), WriteOptions.COMMIT));
  }

  @Test
  void theDeadlineIsTheSameSecondForTheNextLeader() throws Exception {
    drain(Optional.of(200), Then.REMOVE, 2);
    report(7);
    clock.set(NOW + 1100);
    replaceLeader();
    assertThat(drains().get(0).now().connections()).as("unknown is not zero").isEmpty();
    clock.set(NOW + 1199);
    report(7);
    await().during(Duration.ofMillis(1500)).atMost(SOON).until(() -> backend(2).isPresent());
    clock.set(NOW + 1200);
    await().atMost(SOON).until(() -> backend(2).isEmpty());
    assertThat(latest())
        .isEqualTo("end of drain of web: backend 2 (deadline, 7 connections left), removed");
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_drains_left_connections_total{service=\"web\"} 7.0");
    // Its connections are broken, so nothing is reserved.
    done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT));
  }

  @Test
  void theNextLeaderEndsWhatIsEmptyOnceItHasHeardSo() throws Exception {
    drain(Optional.empty(), Then.KEEP, 2);
    report(1);
    replaceLeader();
    untilCounted();
    await().during(Duration.ofSeconds(3)).atMost(SOON).until(() -> state().equals("draining"));
    await()
        .pollInterval(Duration.ofMillis(500))
        .atMost(SOON)
        .until(
            () -> {
              report(0);
              return state().equals("ended");
            });
    BackendView kept = backend(2).orElseThrow();
    assertThat(kept.weight()).isZero();
    assertThat(kept.drain().orElseThrow().end().orElseThrow().reason()).isEqualTo("empty");
    done(controller.drains().undrain("web", List.of(2), WriteOptions.COMMIT));
    assertThat(backend(2).orElseThrow().weight()).isEqualTo(100);
    assertThat(drains()).isEmpty();
  }

  private String state() {
    return drains().get(0).state();
  }

  @Test
  void withoutAgentsManyEndBlindlyInOneGeneration() throws Exception {
    drain(Optional.empty(), Then.REMOVE, 2, 3);
    long generation = Shown.service(controller, "web").orElseThrow().generation();
    clock.set(NOW + 1239);
    await().during(Duration.ofMillis(1500)).atMost(SOON).until(() -> backend(2).isPresent());
    clock.set(NOW + 1240);
    await().atMost(SOON).until(() -> backend(2).isEmpty() && backend(3).isEmpty());
    assertThat(Shown.service(controller, "web").orElseThrow().generation())
        .isEqualTo(generation + 1);
    assertThat(latest())
        .isEqualTo(
            "end of drain of web: backend 2 (expired, connections unknown), removed;"
                + " backend 3 (expired, connections unknown), removed");
  }
}
