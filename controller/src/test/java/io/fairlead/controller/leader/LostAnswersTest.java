// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceView;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;

/**
 * Connections break after a request was sent and before its answer arrived: nothing is lost,
 * repeated or guessed.
 */
class LostAnswersTest {
  private static final int CHANGES = 15;

  @Test
  void aChangeWhoseAnswerIsLostIsCommittedOnceAndAcknowledged() throws Exception {
    long seed = System.nanoTime();
    System.out.println("LostAnswersTest seed " + seed);
    Random random = new Random(seed);
    try (TestingServer server = TestZooKeeper.start();
        FlakyProxy proxy = new FlakyProxy(server.getPort())) {
      int lastWeight = 100;
      long generation;
      try (FairleadController controller = open(proxy.address())) {
        assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
        done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
        done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
        for (int i = 1; i <= CHANGES; i++) {
          if (random.nextBoolean()) {
            proxy.swallow();
          }
          long before = generation(controller);
          int wanted = 1000 + i;
          boolean isAcknowledged = isAcknowledged(controller, wanted);
          if (isAcknowledged) {
            assertThat(generation(controller)).isEqualTo(before + 1);
            lastWeight = wanted;
          } else {
            assertThat(proxy.swallowed()).as("refused for a reason").isPositive();
            assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
            long after = generation(controller);
            assertThat(after).isBetween(before, before + 1);
            lastWeight = after == before ? lastWeight : wanted;
          }
          awaitLeader(controller);
          assertThat(Shown.backends(controller, "web").get(0).weight()).isEqualTo(lastWeight);
        }
        assertThat(proxy.swallowed()).isPositive();
        generation = generation(controller);
      }
      try (FairleadController other = open(server.getConnectString())) {
        assertThat(other.awaitLeader(Duration.ofSeconds(30))).isTrue();
        ServiceView view = Shown.service(other, "web").orElseThrow();
        assertThat(view.generation()).isEqualTo(generation);
        assertThat(Shown.backends(other, "web").get(0).weight()).isEqualTo(lastWeight);
      }
    }
  }

  private static boolean isAcknowledged(FairleadController controller, int wanted)
      throws Exception {
    try {
      done(controller.backends().change("web", List.of(weight(1, wanted)), WriteOptions.COMMIT));
      return true;
    } catch (ExecutionException e) {
      assertThat(((Refusal) e.getCause()).kind()).isEqualTo(Refusal.Kind.UNAVAILABLE);
      return false;
    }
  }

  private static void awaitLeader(FairleadController controller) {
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> controller.plane().health().leader() && !Shown.services(controller).isEmpty());
  }

  private static long generation(FairleadController controller) {
    awaitLeader(controller);
    return Shown.service(controller, "web").orElseThrow().generation();
  }

  private static FairleadController open(String zookeeper) throws Exception {
    return Controllers.open(
        ControllerOptions.of(
            zookeeper,
            FreePorts.nextAddress(),
            "/fairlead",
            "test-" + zookeeper,
            InstantSource.system()));
  }
}
