// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.upkeep.UpkeepJob;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;

/**
 * Several controllers on one ZooKeeper: one leads, the others follow, and no controller writes in
 * an old epoch.
 */
class FailoverTest {
  private static final Duration SOON = Duration.ofSeconds(30);

  private FairleadController first;

  @Test
  void theNextOneLeadsWithEverythingThatWasAcknowledged() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController second = openSecond(server)) {
      assertThat(second.plane().health().leader()).isFalse();
      assertThat(
              refusal(second.services().createService(spec("x", "10.99.0.9"), WriteOptions.COMMIT))
                  .kind())
          .isEqualTo(Refusal.Kind.UNAVAILABLE);
      await().until(second::isServing);
      assertThat(Shown.services(second)).isEqualTo(Shown.services(first));
      first.close();
      assertThat(second.awaitLeader(SOON)).isTrue();
      assertThat(second.plane().health().epoch()).isEqualTo(2);
      assertThat(Shown.backends(second, "web")).hasSize(2);
      assertThat(
              done(second.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT))
                  .generation())
          .isEqualTo(3);
    }
  }

  @Test
  void theNextOneGoesOnWithARebalance() throws Exception {
    SettableClock clock = new SettableClock(1_700_000_000);
    try (TestingServer server = TestZooKeeper.start()) {
      first = open(server.getConnectString(), "first", clock);
      assertThat(first.awaitLeader(SOON)).isTrue();
      done(first.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
      done(first.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
      clock.set(clock.seconds() + 1000);
      UpkeepOrder order = new UpkeepOrder(Kind.REBALANCE, 1, 100, Map.of(1, 300.0, 2, 100.0));
      done(first.upkeeps().startUpkeep("web", order, WriteOptions.COMMIT));
      UpkeepJob before = Shown.upkeep(first, "web").job().orElseThrow();
      assertThat(before.progress().state()).isEqualTo("running");
      try (FairleadController next = open(server.getConnectString(), "next", clock)) {
        await().until(next::isServing);
        first.close();
        assertThat(next.awaitLeader(SOON)).isTrue();
        assertThat(Shown.upkeep(next, "web").job()).contains(before);
        clock.set(clock.seconds() + 240);
        await()
            .atMost(SOON)
            .until(
                () -> Shown.upkeep(next, "web").job().orElseThrow().progress().iterations() == 2);
        UpkeepJob second = Shown.upkeep(next, "web").job().orElseThrow();
        assertThat(second.progress().started()).isEqualTo(before.progress().started());
        assertThat(second.progress().movedBuckets()).isBetween(101L, 200L);
        assertThat(Shown.service(next, "web").orElseThrow().generation()).isEqualTo(4);
      }
    }
  }

  /** Opens a first controller that leads and has committed, then a second one. */
  private FairleadController openSecond(TestingServer server) throws Exception {
    first = open(server.getConnectString(), "first");
    assertThat(first.awaitLeader(SOON)).isTrue();
    done(first.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(first.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
    FairleadController second = open(server.getConnectString(), "second");
    await().until(() -> second.plane().health().zookeeper().equals("connected"));
    return second;
  }

  @Test
  void aRestartNeedNotWaitForTheSessionOfItsFormerLife() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController former = open(server.getConnectString(), "same")) {
      assertThat(former.awaitLeader(SOON)).isTrue();
      done(former.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
      try (FairleadController latter = open(server.getConnectString(), "same")) {
        // The session of the previous process is still alive and would stay so until it expires.
        assertThat(latter.awaitLeader(SOON)).isTrue();
        done(latter.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
        assertThat(confirms(former) ? Shown.backends(former, "web").size() : 1).isEqualTo(1);
        assertThat(
                refusal(former.backends().change("web", List.of(add(2)), WriteOptions.COMMIT))
                    .kind())
            .isEqualTo(Refusal.Kind.UNAVAILABLE);
        await().until(() -> !former.plane().health().leader());
        assertThat(Shown.ring(former, "web").generation()).isEqualTo(2);
        assertThat(Shown.backends(latter, "web")).hasSize(1);
        assertThat(Shown.service(latter, "web").orElseThrow().generation()).isEqualTo(2);
      }
    }
  }

  @Test
  void aFollowerIsAsNewAsWhatWasCommittedBefore() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController second = openSecond(server)) {
      await().until(second::isServing);
      for (int weight = 1; weight <= 50; weight++) {
        done(first.backends().change("web", List.of(weight(1, weight)), WriteOptions.COMMIT));
        assertThat(Shown.backends(second, "web")).isEqualTo(Shown.backends(first, "web"));
        assertThat(Shown.service(second, "web")).isEqualTo(Shown.service(first, "web"));
      }
      assertThat(Shown.ring(second, "web").runs())
          .usingRecursiveComparison()
          .isEqualTo(Shown.ring(first, "web").runs());
      done(first.services().createService(spec("mail", "10.99.0.2"), WriteOptions.COMMIT));
      assertThat(Shown.services(second)).isEqualTo(Shown.services(first));
      done(first.services().deleteService("web", WriteOptions.COMMIT));
      assertThat(Shown.services(second)).isEqualTo(Shown.services(first));
      done(first.services().createService(spec("web", "10.99.0.3"), WriteOptions.COMMIT));
      assertThat(Shown.services(second)).isEqualTo(Shown.services(first));
      first.close();
    }
  }

  /** Whether it reports that its next read is the latest. */
  private static boolean confirms(FairleadController controller) {
    try {
      controller.plane().confirm();
      return true;
    } catch (Refusal e) {
      return false;
    }
  }

  private static FairleadController open(String zookeeper, String id) throws Exception {
    return open(zookeeper, id, InstantSource.system());
  }

  private static FairleadController open(String zookeeper, String id, InstantSource clock)
      throws Exception {
    return Controllers.open(
        ControllerOptions.of(zookeeper, FreePorts.nextAddress(), "/fairlead", id, clock)
            .withClockCheck(!(clock instanceof SettableClock)));
  }
}
