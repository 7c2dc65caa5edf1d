// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.service.Requests.add;
import static io.fairlead.controller.service.Requests.done;
import static io.fairlead.controller.service.Requests.refusal;
import static io.fairlead.controller.service.Requests.spec;
import static io.fairlead.controller.service.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.image.UpkeepState.Kind;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.upkeep.UpkeepJob;
import io.fairlead.controller.upkeep.UpkeepOrder;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;

/**
 * Several controllers on one ZooKeeper: one leads, the others follow, and nobody writes in an epoch
 * that is over.
 */
class FailoverTest {
  private static final Duration SOON = Duration.ofSeconds(30);

  private FairleadController first;

  @Test
  void theNextOneLeadsWithEverythingThatWasAcknowledged() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController second = openSecond(server)) {
      assertThat(second.health().leader()).isFalse();
      assertThat(refusal(second.createService(spec("x", "10.99.0.9"), false)).kind())
          .isEqualTo(Refusal.Kind.UNAVAILABLE);
      await().until(second::isServing);
      assertThat(second.services()).isEqualTo(first.services());
      first.close();
      assertThat(second.awaitLeader(SOON)).isTrue();
      assertThat(second.health().epoch()).isEqualTo(2);
      assertThat(second.backends("web")).hasSize(2);
      assertThat(done(second.change("web", List.of(weight(1, 7)), false)).generation())
          .isEqualTo(3);
    }
  }

  @Test
  void theNextOneGoesOnWithARebalance() throws Exception {
    SettableClock clock = new SettableClock(1_700_000_000);
    try (TestingServer server = TestZooKeeper.start()) {
      first = open(server.getConnectString(), "first", clock);
      assertThat(first.awaitLeader(SOON)).isTrue();
      done(first.createService(spec("web", "10.99.0.1"), false));
      done(first.change("web", List.of(add(1), add(2)), false));
      clock.set(clock.seconds() + 1000);
      UpkeepOrder order =
          new UpkeepOrder(Kind.REBALANCE, 1, 100, false, Map.of(1, 300.0, 2, 100.0));
      done(first.startUpkeep("web", order, WriteOptions.of(false)));
      UpkeepJob before = first.upkeep("web").job().orElseThrow();
      assertThat(before.state()).isEqualTo("running");
      try (FairleadController next = open(server.getConnectString(), "next", clock)) {
        await().until(next::isServing);
        first.close();
        assertThat(next.awaitLeader(SOON)).isTrue();
        assertThat(next.upkeep("web").job()).contains(before);
        clock.set(clock.seconds() + 240);
        await().atMost(SOON).until(() -> next.upkeep("web").job().orElseThrow().iterations() == 2);
        UpkeepJob second = next.upkeep("web").job().orElseThrow();
        assertThat(second.started()).isEqualTo(before.started());
        assertThat(second.movedBuckets()).isBetween(101L, 200L);
        assertThat(next.service("web").orElseThrow().generation()).isEqualTo(4);
      }
    }
  }

  /** Opens a first controller that leads and has committed, then a second one. */
  private FairleadController openSecond(TestingServer server) throws Exception {
    first = open(server.getConnectString(), "first");
    assertThat(first.awaitLeader(SOON)).isTrue();
    done(first.createService(spec("web", "10.99.0.1"), false));
    done(first.change("web", List.of(add(1), add(2)), false));
    FairleadController second = open(server.getConnectString(), "second");
    await().until(() -> second.health().zookeeper().equals("connected"));
    return second;
  }

  @Test
  void aRestartNeedNotWaitForTheSessionOfItsFormerLife() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController former = open(server.getConnectString(), "same")) {
      assertThat(former.awaitLeader(SOON)).isTrue();
      done(former.createService(spec("web", "10.99.0.1"), false));
      try (FairleadController latter = open(server.getConnectString(), "same")) {
        // The former life's session is alive and would be for as long as it lives.
        assertThat(latter.awaitLeader(SOON)).isTrue();
        done(latter.change("web", List.of(add(1)), false));
        assertThat(confirms(former) ? former.backends("web").size() : 1).isEqualTo(1);
        assertThat(refusal(former.change("web", List.of(add(2)), false)).kind())
            .isEqualTo(Refusal.Kind.UNAVAILABLE);
        await().until(() -> !former.health().leader());
        assertThat(former.ring("web").generation()).isEqualTo(2);
        assertThat(latter.backends("web")).hasSize(1);
        assertThat(latter.service("web").orElseThrow().generation()).isEqualTo(2);
      }
    }
  }

  @Test
  void aFollowerIsAsNewAsWhatWasCommittedBefore() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        FairleadController second = openSecond(server)) {
      await().until(second::isServing);
      for (int weight = 1; weight <= 50; weight++) {
        done(first.change("web", List.of(weight(1, weight)), false));
        assertThat(second.backends("web")).isEqualTo(first.backends("web"));
        assertThat(second.service("web")).isEqualTo(first.service("web"));
      }
      assertThat(second.ring("web").runs())
          .usingRecursiveComparison()
          .isEqualTo(first.ring("web").runs());
      done(first.createService(spec("mail", "10.99.0.2"), false));
      assertThat(second.services()).isEqualTo(first.services());
      done(first.deleteService("web", false));
      assertThat(second.services()).isEqualTo(first.services());
      done(first.createService(spec("web", "10.99.0.3"), false));
      assertThat(second.services()).isEqualTo(first.services());
      first.close();
    }
  }

  /** Whether it says that what it reads next is the latest. */
  private static boolean confirms(FairleadController controller) {
    try {
      controller.confirm();
      return true;
    } catch (Refusal e) {
      return false;
    }
  }

  private static FairleadController open(String zookeeper, String id) throws Exception {
    return open(zookeeper, id, Clock.systemUTC());
  }

  private static FairleadController open(String zookeeper, String id, Clock clock)
      throws Exception {
    return FairleadController.open(
        new FairleadController.Options(zookeeper, FreePorts.nextAddress(), "/fairlead", id, clock));
  }
}
