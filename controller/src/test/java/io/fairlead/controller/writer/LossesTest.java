// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import static io.fairlead.controller.writer.Requests.add;
import static io.fairlead.controller.writer.Requests.done;
import static io.fairlead.controller.writer.Requests.refusal;
import static io.fairlead.controller.writer.Requests.remove;
import static io.fairlead.controller.writer.Requests.spec;
import static io.fairlead.controller.writer.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.backends.Change;
import io.fairlead.controller.image.UpkeepState.Kind;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.plane.WriteOptions.OnLoss;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.ZooKeeperClient;
import io.fairlead.controller.upkeep.UpkeepOrder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Wild changes within one window: what breaks is said before, refused, or waits. */
class LossesTest {
  private static final WriteOptions FORCE = WriteOptions.COMMIT.with(OnLoss.FORCE);
  private static final WriteOptions WAIT = WriteOptions.COMMIT.with(OnLoss.WAIT);
  private static final Duration SOON = Duration.ofSeconds(30);

  private final SettableClock clock = new SettableClock(1_700_000_000);
  private TestingServer server;
  private FairleadController controller;

  /** How many buckets are 5's: those that move four times, to 1, 2, 3 and 4. */
  private int lost;

  /** Five backends, which nothing has moved between for long. */
  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    controller = lead("first");
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    change(WriteOptions.COMMIT, add(1), add(2), add(3), add(4), add(5));
    lost = ring().owned()[5];
    assertThat(lost).isBetween(204, 205);
    clock.set(clock.seconds() + 1000);
  }

  @AfterEach
  void close() throws Exception {
    controller.close();
    server.close();
  }

  private FairleadController lead(String id) throws Exception {
    FairleadController opened =
        FairleadController.open(
            ControllerOptions.of(
                    server.getConnectString(), FreePorts.nextAddress(), "/fairlead", id, clock)
                .withMonotonic(clock::seconds)
                .withClockCheck(false));
    assertThat(opened.awaitLeader(SOON)).isTrue();
    return opened;
  }

  private Result change(WriteOptions options, Change... changes) throws Exception {
    return done(controller.backends().change("web", List.of(changes), options));
  }

  private Refusal refused(WriteOptions options, Change... changes) throws Exception {
    return refusal(controller.backends().change("web", List.of(changes), options));
  }

  private Ring ring() {
    return controller.plane().read("web", service -> service.image().ring());
  }

  /** All buckets go to one backend after another: those of 4 and 5 move three times. */
  private void burst() throws Exception {
    for (int only : new int[] {1, 2, 3}) {
      clock.set(clock.seconds() + 3);
      change(WriteOptions.COMMIT, only(only));
    }
  }

  private static Change[] only(int id) {
    return new Change[] {
      weight(1, id == 1 ? 100 : 0),
      weight(2, id == 2 ? 100 : 0),
      weight(3, id == 3 ? 100 : 0),
      weight(4, id == 4 ? 100 : 0),
      weight(5, 0)
    };
  }

  @Test
  void aFourthMoveIsToldRefusedAndForced() throws Exception {
    burst();
    clock.set(clock.seconds() + 3);
    int generation = (int) ring().generation();
    Result plan = change(WriteOptions.PLAN, only(4));
    assertThat(plan.movedBuckets()).isEqualTo(1024);
    // Those that were 4's come back to 4, from whom all are found.
    assertThat(plan.owners().lostBuckets()).isEqualTo(lost);
    Refusal refusal = refused(WriteOptions.COMMIT, only(4));
    assertThat(refusal.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(refusal.field()).isEqualTo("force");
    assertThat(refusal.value()).isEqualTo("false");
    assertThat(refusal.allowed())
        .isEqualTo(
            ("true: %d buckets move a fourth time within their window, or back, and lose an owner,"
                 + " whose connections break; or whenSafe=true: they wait; or this change in 231 s")
                .formatted(lost));
    assertThat(ring().generation()).isEqualTo(generation);
    assertThat(change(FORCE, only(4)).owners().lostBuckets()).isEqualTo(lost);
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_lost_buckets_total{service=\"web\"} %d.0".formatted(lost));
    assertThat(controller.audit().page(OptionalLong.empty(), 1).entries().get(0).entry())
        .satisfies(entry -> assertThat(entry.lostBuckets()).contains(lost));
  }

  @Test
  void inTheSecondThatTheRefusalNamesItIsAllowed() throws Exception {
    burst();
    clock.set(clock.seconds() + 230);
    assertThat(refused(WriteOptions.COMMIT, only(4)).allowed()).endsWith("this change in 4 s");
    clock.set(clock.seconds() + 4);
    assertThat(change(WriteOptions.COMMIT, only(4)).owners().lostBuckets()).isZero();
  }

  /** Neither a new leader nor a snapshot that replaces the deltas of the window forgets. */
  @Test
  void theNextLeaderCountsTheSame() throws Exception {
    burst();
    for (int generation = 0; generation < 30; generation++) {
      change(WriteOptions.COMMIT, weight(3, 100 + generation));
    }
    String third = new Tree("/fairlead").generation("web", 3);
    try (CuratorFramework client = ZooKeeperClient.create(server.getConnectString())) {
      client.start();
      await().atMost(SOON).until(() -> client.checkExists().forPath(third) == null);
    }
    try (FairleadController second =
        FairleadController.open(
            ControllerOptions.of(
                    server.getConnectString(), FreePorts.nextAddress(), "/fairlead", "next", clock)
                .withMonotonic(clock::seconds)
                .withClockCheck(false))) {
      await().until(second::isServing);
      controller.close();
      assertThat(second.awaitLeader(SOON)).isTrue();
      assertThat(
              done(second.backends().change("web", List.of(only(4)), WriteOptions.PLAN))
                  .owners()
                  .lostBuckets())
          .as("a follower that leads")
          .isEqualTo(lost);
    }
    controller = lead("restarted");
    assertThat(change(WriteOptions.PLAN, only(4)).owners().lostBuckets()).isEqualTo(lost);
    assertThat(refused(WriteOptions.COMMIT, only(4)).field()).isEqualTo("force");
  }

  @Test
  void whatWouldBeLostWaitsForTheWindow() throws Exception {
    burst();
    Result result = change(WAIT, only(4));
    assertThat(result.owners()).isEqualTo(new Result.Owners(0, lost, 0));
    assertThat(result.movedBuckets()).isEqualTo(1024 - lost);
    assertThat(ring().owned()[3]).isEqualTo(lost);
    assertThat(ring().owned()[4]).isEqualTo(1024 - lost);
    assertThat(Shown.upkeep(controller, "web").job().orElseThrow().progress().leftBuckets())
        .isEqualTo(lost);
    controller.close();
    controller = lead("next");
    clock.set(clock.seconds() + 240);
    await().atMost(SOON).until(() -> ring().owned()[4] == 1024);
    assertThat(Shown.upkeep(controller, "web").job().orElseThrow().progress().state())
        .isEqualTo("reached");
  }

  @Test
  void whatCannotWaitIsRefused() throws Exception {
    burst();
    Refusal removal = refused(WAIT, weight(4, 100), remove(3));
    assertThat(removal.field()).isEqualTo("whenSafe");
    assertThat(removal.allowed())
        .isEqualTo(
            "a change that keeps backend 3: its buckets have to wait; drain it (weight 0) now and"
                + " remove it when they have moved");
    UpkeepOrder order = new UpkeepOrder(Kind.REBALANCE, 1, 1, false, Map.of(3, 5.0, 4, 1.0));
    change(FORCE, weight(4, 100));
    done(controller.upkeeps().startUpkeep("web", order, WriteOptions.COMMIT));
    assertThat(refused(WAIT, only(2)).allowed())
        .isEqualTo("false while a rebalance runs: wait for its end, or stop it");
    done(controller.upkeeps().stopUpkeep("web", WriteOptions.COMMIT));
    ServiceSpec other = ServiceSpec.builder().assignment("modulo").build();
    done(controller.services().changeService("web", other, FORCE));
    assertThat(refused(WAIT, only(2)).allowed())
        .isEqualTo("false with assignment modulo, which decides alone who owns which bucket");
  }

  /** An upkeep that may move chained buckets leaves those that would lose an owner. */
  @Test
  void anUpkeepLosesNoOwner() throws Exception {
    burst();
    change(FORCE, weight(1, 100), weight(2, 100), weight(4, 100));
    for (Kind kind : Kind.values()) {
      Map<Integer, Double> loads =
          kind == Kind.REBALANCE ? Map.of(1, 9.0, 2, 1.0, 3, 1.0, 4, 1.0) : Map.of();
      UpkeepOrder order = new UpkeepOrder(kind, 1, 1024, true, loads);
      Result plan = done(controller.upkeeps().startUpkeep("web", order, WriteOptions.PLAN));
      assertThat(plan.owners().lostBuckets()).as(kind.toString()).isZero();
    }
  }
}
