// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.backends.BackendView.Growth;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.store.repository.Backup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Slow starts of a live service on a real ZooKeeper, across leaders and a restore. */
class SlowStartServiceTest {
  private static final long NOW = 1_700_000_000;
  private static final Duration SOON = Duration.ofSeconds(30);

  @TempDir private Path directory;
  private final SettableClock clock = new SettableClock(NOW);
  private TestingServer server;
  private FairleadController controller;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    controller = open("first");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    ServiceSpec web = spec("web", "10.99.0.1").toBuilder().slowStartSeconds(200).build();
    done(controller.services().createService(web, WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2), add(3)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
  }

  @AfterEach
  void close() throws Exception {
    controller.close();
    server.close();
  }

  private ControllerOptions options(String id) {
    return ControllerOptions.of(
            server.getConnectString(), FreePorts.nextAddress(), "/fairlead", id, clock)
        .withClockCheck(false)
        .with(Duration.ZERO);
  }

  private FairleadController open(String id) throws Exception {
    return Controllers.open(options(id));
  }

  private BackendView backend(int id) {
    return Shown.backends(controller, "web").get(id - 1);
  }

  private double share() {
    return backend(4).slowStart().map(Growth::share).orElse(1.0);
  }

  private long generation() {
    return Shown.service(controller, "web").orElseThrow().generation();
  }

  /** Until a poll has made of the time what there is to make. */
  private void at(long seconds, double share) {
    clock.set(seconds);
    await().atMost(SOON).until(() -> share() == share);
  }

  @Test
  void theControllerTakesEachStepWhenItIsDue() throws Exception {
    done(controller.backends().change("web", List.of(add(4)), WriteOptions.COMMIT));
    assertThat(backend(4).weight()).isEqualTo(100);
    assertThat(backend(4).slowStart()).contains(new Growth(NOW + 1000, NOW + 1200, 0.05));
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_slow_start_share{backend=\"4\",service=\"web\"} 0.05");
    long first = generation();
    clock.set(NOW + 1009);
    await().during(Duration.ofMillis(1200)).atMost(SOON).until(() -> generation() == first);
    at(NOW + 1010, 0.097);
    at(NOW + 1100, 0.525);
    assertThat(generation()).isEqualTo(first + 2);
    assertThat(backend(4).buckets()).isEqualTo((int) (1024 * 52.5 / 352.5));
    at(NOW + 1200, 1);
    assertThat(backend(4).buckets()).isEqualTo(256);
    assertThat(backend(4).slowStart()).isEmpty();
    assertThat(controller.audit().page(OptionalLong.empty(), 1).entries().get(0).entry().what())
        .isEqualTo("slow start backend 4 at 100.0 % of web");
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_slow_start_steps_total{service=\"web\"} 3.0")
        .doesNotContain("slow_start_share{");
  }

  @Test
  void theNextLeaderContinuesToTheSecond() throws Exception {
    done(controller.backends().change("web", List.of(add(4)), WriteOptions.COMMIT));
    at(NOW + 1050, 0.287);
    FairleadController next = open("second");
    await().until(next::isServing);
    assertThat(Shown.backends(next, "web")).isEqualTo(Shown.backends(controller, "web"));
    controller.close();
    controller = next;
    assertThat(next.awaitLeader(SOON)).isTrue();
    long generation = generation();
    clock.set(NOW + 1059);
    await().during(Duration.ofMillis(1200)).atMost(SOON).until(() -> generation() == generation);
    at(NOW + 1060, 0.335);
    assertThat(generation()).isEqualTo(generation + 1);
    done(next.backends().change("web", List.of(weight(4, 50)), WriteOptions.COMMIT));
    assertThat(backend(4).slowStart()).isEmpty();
    assertThat(backend(4).buckets()).isBetween(146, 147);
  }

  @Test
  void aRestoreContinuesByTheClock() throws Exception {
    done(controller.backends().change("web", List.of(add(4)), WriteOptions.COMMIT));
    at(NOW + 1050, 0.287);
    byte[] json = controller.backup().apply(Origin.ANONYMOUS);
    Backup backup = Backup.read(Files.write(directory.resolve("backup.json"), json));
    controller.close();
    server.close();
    server = TestZooKeeper.start();
    clock.set(NOW + 1100);
    try (FairleadController restoring = Controllers.prepare(options("restore"))) {
      restoring.restore(backup);
    }
    controller = open("third");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    at(NOW + 1100, 0.525);
    at(NOW + 1200, 1);
    assertThat(backend(4).buckets()).isEqualTo(256);
  }

  @Test
  void anotherAssignmentEndsASlowStart() throws Exception {
    ServiceSpec none = ServiceSpec.builder().slowStartSeconds(0).build();
    done(controller.services().changeService("web", none, WriteOptions.COMMIT));
    Optional<Integer> seconds = Optional.of(200);
    var slow =
        new io.fairlead.controller.resources.backends.Change.Add(4, "10.1.0.4", 100, seconds);
    done(controller.backends().change("web", List.of(slow), WriteOptions.COMMIT));
    assertThat(share()).isEqualTo(0.05);
    ServiceSpec maglev = ServiceSpec.builder().assignment("maglev").build();
    done(controller.services().changeService("web", maglev, WriteOptions.COMMIT));
    assertThat(backend(4).slowStart()).isEmpty();
    assertThat(backend(4).buckets()).isBetween(250, 262);
  }
}
