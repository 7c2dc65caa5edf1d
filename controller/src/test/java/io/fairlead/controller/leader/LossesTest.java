// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Requests;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Full buckets that move: what breaks is said before, refused, or waits. */
class LossesTest {
  private static final WriteOptions FORCE = WriteOptions.COMMIT.with(OnLoss.FORCE);
  private static final WriteOptions WAIT = WriteOptions.COMMIT.with(OnLoss.WAIT);
  private static final Duration SOON = Duration.ofSeconds(30);

  private final SettableClock clock = new SettableClock(1_700_000_000);
  private TestingServer server;
  private FairleadController controller;

  /** How many buckets are 8's: those that have it and 1 to 5 as former owners at 6. */
  private int lost;

  /** Eight backends, which nothing has moved between for long. */
  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    controller = lead("first");
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    change(
        WriteOptions.COMMIT,
        IntStream.rangeClosed(1, 8).mapToObj(Requests::add).toArray(Change[]::new));
    lost = ring().owned()[8];
    assertThat(lost).isEqualTo(128);
    clock.set(clock.seconds() + 1000);
  }

  @AfterEach
  void close() throws Exception {
    controller.close();
    server.close();
  }

  private FairleadController lead(String id) throws Exception {
    FairleadController opened =
        Controllers.open(
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

  /** All buckets go to one backend after another: those of 7 and 8 become full. */
  private void burst() throws Exception {
    for (int only = 1; only <= 6; only++) {
      clock.set(clock.seconds() + 3);
      change(WriteOptions.COMMIT, only(only));
    }
  }

  private static Change[] only(int id) {
    return IntStream.rangeClosed(1, 8)
        .mapToObj(each -> weight(each, each == id ? 100 : 0))
        .toArray(Change[]::new);
  }

  @Test
  void aMoveOfFullBucketsIsToldRefusedAndForced() throws Exception {
    burst();
    clock.set(clock.seconds() + 3);
    int generation = (int) ring().generation();
    Result plan = change(WriteOptions.PLAN, only(7));
    assertThat(plan.movedBuckets()).isEqualTo(1024);
    // Those that were 7's come back to it.
    assertThat(plan.owners().lostBuckets()).isEqualTo(lost);
    Refusal refusal = refused(WriteOptions.COMMIT, only(7));
    assertThat(refusal.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(refusal.field()).isEqualTo("force");
    assertThat(refusal.value()).isEqualTo("false");
    assertThat(refusal.allowed())
        .isEqualTo(
            ("true: %d buckets (896-1023) have 6 former owners, as many as packets name: they lose"
                    + " the oldest, whose connections break; or whenSafe=true: they wait; or this"
                    + " change in 222 s")
                .formatted(lost));
    assertThat(ring().generation()).isEqualTo(generation);
    assertThat(change(FORCE, only(7)).owners().lostBuckets()).isEqualTo(lost);
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_lost_buckets_total{service=\"web\"} %d.0".formatted(lost));
    assertThat(controller.audit().page(OptionalLong.empty(), 1).entries().get(0).entry())
        .satisfies(entry -> assertThat(entry.lostBuckets()).contains(lost));
  }

  @Test
  void inTheSecondThatTheRefusalNamesItIsAllowed() throws Exception {
    burst();
    clock.set(clock.seconds() + 221);
    assertThat(refused(WriteOptions.COMMIT, only(7)).allowed()).endsWith("this change in 4 s");
    clock.set(clock.seconds() + 4);
    assertThat(change(WriteOptions.COMMIT, only(7)).owners().lostBuckets()).isZero();
  }

  /** Neither a new leader nor a snapshot that replaces the deltas of the window forgets. */
  @Test
  void theNextLeaderCountsTheSame() throws Exception {
    burst();
    for (int generation = 0; generation < 30; generation++) {
      change(WriteOptions.COMMIT, weight(6, 100 + generation));
    }
    String third = new Tree("/fairlead").generation("web", 3);
    try (CuratorFramework client = ZooKeeperClient.create(server.getConnectString())) {
      client.start();
      await().atMost(SOON).until(() -> client.checkExists().forPath(third) == null);
    }
    try (FairleadController second =
        Controllers.open(
            ControllerOptions.of(
                    server.getConnectString(), FreePorts.nextAddress(), "/fairlead", "next", clock)
                .withMonotonic(clock::seconds)
                .withClockCheck(false))) {
      await().until(second::isServing);
      controller.close();
      assertThat(second.awaitLeader(SOON)).isTrue();
      assertThat(
              done(second.backends().change("web", List.of(only(7)), WriteOptions.PLAN))
                  .owners()
                  .lostBuckets())
          .as("a follower that leads")
          .isEqualTo(lost);
    }
    controller = lead("restarted");
    assertThat(change(WriteOptions.PLAN, only(7)).owners().lostBuckets()).isEqualTo(lost);
    assertThat(refused(WriteOptions.COMMIT, only(7)).field()).isEqualTo("force");
  }

  @Test
  void whatWouldBeLostWaitsForRoom() throws Exception {
    burst();
    Result result = change(WAIT, only(7));
    assertThat(result.owners()).isEqualTo(new Result.Owners(0, lost, 0));
    assertThat(result.movedBuckets()).isEqualTo(1024 - lost);
    assertThat(ring().owned()[6]).isEqualTo(lost);
    assertThat(ring().owned()[7]).isEqualTo(1024 - lost);
    assertThat(Shown.upkeep(controller, "web").job().orElseThrow().progress().leftBuckets())
        .isEqualTo(lost);
    controller.close();
    controller = lead("next");
    clock.set(clock.seconds() + 240);
    await().atMost(SOON).until(() -> ring().owned()[7] == 1024);
    assertThat(Shown.upkeep(controller, "web").job().orElseThrow().progress().state())
        .isEqualTo("reached");
  }

  @Test
  void whatCannotWaitIsRefused() throws Exception {
    burst();
    Refusal removal = refused(WAIT, weight(7, 100), remove(6));
    assertThat(removal.field()).isEqualTo("whenSafe");
    assertThat(removal.allowed())
        .isEqualTo(
            "a change that keeps backend 6: its buckets have to wait; drain it (weight 0) now and"
                + " remove it when they have moved");
    UpkeepOrder order = new UpkeepOrder(Kind.REBALANCE, 1, 1, Map.of(6, 5.0, 7, 1.0));
    change(FORCE, weight(7, 100));
    done(controller.upkeeps().startUpkeep("web", order, WriteOptions.COMMIT));
    assertThat(refused(WAIT, only(7)).allowed())
        .isEqualTo("false while a rebalance runs: wait for its end, or stop it");
    done(controller.upkeeps().stopUpkeep("web", WriteOptions.COMMIT));
    ServiceSpec other = ServiceSpec.builder().assignment("modulo").build();
    done(controller.services().changeService("web", other, FORCE));
    assertThat(refused(WAIT, only(7)).allowed())
        .isEqualTo("false with assignment modulo, which decides alone who owns which bucket");
  }

  @Test
  void anUpkeepLosesNoOwner() throws Exception {
    burst();
    change(FORCE, weight(1, 100), weight(2, 100), weight(7, 100));
    for (Kind kind : Kind.values()) {
      Map<Integer, Double> loads =
          kind == Kind.REBALANCE ? Map.of(1, 9.0, 2, 1.0, 6, 1.0, 7, 1.0) : Map.of();
      UpkeepOrder order = new UpkeepOrder(kind, 1, 1024, loads);
      Result plan = done(controller.upkeeps().startUpkeep("web", order, WriteOptions.PLAN));
      assertThat(plan.owners().lostBuckets()).as(kind.toString()).isZero();
    }
  }

  /**
   * As health does with a server that is down: no bucket loses an owner, so its full ones stay with
   * it, if all of their former owners are down, too. Once it is known to be dead, they move.
   */
  @Test
  void fullBucketsStayAtAServerThatIsDownUntilItIsDead() throws Exception {
    burst();
    Result down = change(WriteOptions.COMMIT.with(OnLoss.KEEP), only(7));
    assertThat(down.owners()).isEqualTo(new Result.Owners(0, lost, 0));
    assertThat(ring().owned()[6]).isEqualTo(lost);
    Result dead = change(WriteOptions.COMMIT, new Change.Remove(6, true));
    assertThat(dead.owners().lostBuckets()).isZero();
    assertThat(ring().owned()[7]).isEqualTo(1024);
  }

  /** A full bucket has a choice among those that it has had, whatever their shares are. */
  @Test
  void fullBucketsOfADrainedBackendGoBack() throws Exception {
    burst();
    Result drained =
        change(WriteOptions.COMMIT, weight(6, 0), weight(3, 100), weight(5, 50), weight(7, 100));
    assertThat(drained.owners()).isEqualTo(Result.Owners.ALL_FOUND);
    assertThat(drained.movedBuckets()).isEqualTo(1024);
    assertThat(ring().owned()[7]).isLessThan(409);
    double load3 = ring().owned()[3] / 100.0;
    double load5 = ring().owned()[5] / 50.0;
    assertThat(load3).isBetween(load5 - 0.05, load5 + 0.05);
  }
}
