// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Staging;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.Stages;
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

/** Staged changes of a live service on a real ZooKeeper, across leaders and a restore. */
class StageServiceTest {
  private static final long NOW = 1_700_000_000;
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final WriteOptions STAGED =
      WriteOptions.COMMIT.with(Optional.of(new Stages("1,10,100", Optional.of(60))));

  @TempDir private Path directory;
  private final SettableClock clock = new SettableClock(NOW);
  private TestingServer server;
  private FairleadController controller;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    controller = open("first");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2), add(3)), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(4)), STAGED));
    awaitLook(); // of a step that it sees late a leader waits for agents again
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

  private Staging staging() {
    return Shown.service(controller, "web").orElseThrow().staging().orElseThrow();
  }

  private int owned() {
    return Shown.backends(controller, "web").get(3).buckets();
  }

  /** Until the leader has looked at the change at the present time. */
  private void awaitLook() {
    await()
        .atMost(SOON)
        .until(
            () ->
                controller
                    .plane()
                    .read("web", each -> controller.softState().stages().seen(each.image()))
                    .isPresent());
  }

  /** Until a poll has made of the time what there is to make. */
  private void at(long seconds, double share) {
    awaitLook();
    clock.set(seconds);
    await().atMost(SOON).until(() -> staging().share() == share);
  }

  private String audited() {
    return controller.audit().page(OptionalLong.empty(), 1).entries().get(0).entry().what();
  }

  @Test
  void theControllerTakesEachStepWhenItIsDue() throws Exception {
    assertThat(owned()).as("1 %% of 256").isEqualTo(2);
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_stage_share{service=\"web\"} 0.01")
        .contains("fairlead_controller_stage_unheard{service=\"web\"} 1.0")
        .contains("fairlead_controller_stage_overdue_seconds{service=\"web\"} 0.0")
        .contains("fairlead_controller_stage_rolled_back{service=\"web\"} 0.0");
    clock.set(NOW + 59);
    await().during(Duration.ofMillis(1200)).atMost(SOON).until(() -> owned() == 2);
    at(NOW + 60, 0.1);
    assertThat(owned()).isEqualTo(25);
    assertThat(audited())
        .isEqualTo(
            "staged change of web (backend 4 at 1 %) goes on to 10 %: no agent of the changed"
                + " backends reports signals, so that only the time counts");
    at(NOW + 120, 1);
    assertThat(owned()).isEqualTo(256);
    clock.set(NOW + 180);
    await().atMost(SOON).until(() -> staging().state().equals("done"));
    assertThat(audited()).startsWith("staged change of web (backend 4 at 100 %) is done: ");
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_stages_ended_total{outcome=\"done\",service=\"web\"} 1.0")
        .doesNotContain("stage_share{");
  }

  @Test
  void theNextLeaderContinues() throws Exception {
    at(NOW + 60, 0.1);
    FairleadController next = open("second");
    await().until(next::isServing);
    controller.close();
    controller = next;
    assertThat(next.awaitLeader(SOON)).isTrue();
    assertThat(staging().share()).isEqualTo(0.1);
    awaitLook();
    clock.set(NOW + 119);
    await().during(Duration.ofMillis(1200)).atMost(SOON).until(() -> owned() == 25);
    at(NOW + 120, 1);
    done(next.stages().rollBack("web", WriteOptions.COMMIT));
    assertThat(staging().state()).isEqualTo("rolled_back");
    assertThat(next.metrics().scrape())
        .contains("fairlead_controller_stage_rolled_back{service=\"web\"} 1.0")
        .contains("fairlead_controller_stage_overdue_seconds{service=\"web\"} 0.0");
    assertThat(owned()).isZero();
    assertThat(Shown.backends(next, "web").get(3).drain().orElseThrow().weight()).isEqualTo(100);
  }

  @Test
  void aRestoreContinues() throws Exception {
    byte[] json = controller.backup().apply(Origin.ANONYMOUS);
    Backup backup = Backup.read(Files.write(directory.resolve("backup.json"), json));
    controller.close();
    server.close();
    server = TestZooKeeper.start();
    clock.set(NOW + 30);
    try (FairleadController restoring = Controllers.prepare(options("restore"))) {
      restoring.restore(backup);
    }
    controller = open("third");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    assertThat(staging().share()).isEqualTo(0.01);
    assertThat(owned()).isEqualTo(2);
    awaitLook();
    clock.set(NOW + 60);
    await().during(Duration.ofMillis(1200)).atMost(SOON).until(() -> owned() == 2);
    at(NOW + 75, 0.1); // agents have had 45 s to find the new leader
  }

  @Test
  void anotherAssignmentWaits() throws Exception {
    ServiceSpec maglev = ServiceSpec.builder().assignment(AssignmentMethod.MAGLEV.word()).build();
    assertThat(
            refusal(controller.services().changeService("web", maglev, WriteOptions.COMMIT))
                .getMessage())
        .contains("while one is staged (backend 4 at 1 %");
    assertThat(
            refusal(controller.services().changeService("web", maglev, WriteOptions.PLAN))
                .getMessage())
        .contains("fairleadctl stage advance web");
  }
}
