// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.drains.DrainView;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A controller that leads on a real ZooKeeper while its clock is set. */
class WrongClockTest {
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final long HOUR = 3_600_000;
  private static final long MONTH = 30L * 24 * HOUR;

  /** The machine's clock and so much. */
  private static final class ShiftedClock implements InstantSource {
    private volatile long millis;

    @Override
    public Instant instant() {
      return InstantSource.system().instant().plusMillis(millis);
    }
  }

  @TempDir private Path directory;
  private final ShiftedClock clock = new ShiftedClock();
  private FairleadController controller;

  @BeforeEach
  void open() throws Exception {
    controller = open(true);
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
  }

  @AfterEach
  void close() {
    controller.close();
  }

  private FairleadController open(boolean checksClock) throws Exception {
    FairleadController opened =
        Controllers.open(
            ControllerOptions.of(
                    "embedded:" + directory, FreePorts.nextAddress(), "/fairlead", "test", clock)
                .withClockCheck(checksClock));
    assertThat(opened.awaitLeader(SOON)).isTrue();
    return opened;
  }

  private static ServiceSpec vip(String address) {
    return ServiceSpec.builder().vips(List.of(address)).build();
  }

  private static Result done(CompletionStage<Result> stage) {
    return stage.toCompletableFuture().join();
  }

  private static Optional<Refusal> refusal(Supplier<CompletionStage<Result>> write) {
    try {
      done(write.get());
      return Optional.empty();
    } catch (CompletionException e) {
      return Optional.of((Refusal) e.getCause());
    }
  }

  private List<Supplier<CompletionStage<Result>>> writes(WriteOptions options) {
    List<Change> change = List.of(weight(1, 7));
    return List.of(
        () -> controller.backends().change("web", change, options),
        () -> controller.services().createService(spec("mail", "10.99.0.2"), options),
        () -> controller.services().putService(spec("web", "10.99.0.3"), Optional.empty(), options),
        () -> controller.services().changeService("web", vip("10.99.0.4"), options),
        () -> controller.upkeeps().stopUpkeep("web", options),
        () -> controller.services().deleteService("web", options));
  }

  @Test
  void nothingIsCommittedByAClockThatIsOff() {
    var before = Shown.services(controller);
    for (long millis : List.of(MONTH, -MONTH, 10_000L, -10_000L)) {
      clock.millis = millis;
      for (Supplier<CompletionStage<Result>> write : writes(WriteOptions.COMMIT).subList(0, 4)) {
        assertThat(refusal(write))
            .hasValueSatisfying(
                refusal -> {
                  assertThat(refusal.kind()).isEqualTo(Refusal.Kind.UNAVAILABLE);
                  assertThat(refusal.field()).isEqualTo("clock");
                });
      }
      assertThat(refusal(writes(WriteOptions.COMMIT).get(5))).isPresent();
      for (Supplier<CompletionStage<Result>> plan : writes(WriteOptions.PLAN)) {
        assertThat(refusal(plan)).isEmpty();
      }
      assertThat(Shown.services(controller)).isEqualTo(before);
    }
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_clock_refusals_total 20.0");
    clock.millis = 0;
    for (Supplier<CompletionStage<Result>> write : writes(WriteOptions.COMMIT)) {
      assertThat(refusal(write)).isEmpty();
    }
  }

  /** For as long as several steps of all that a leader does by itself take. */
  private static void stays(ThrowingRunnable asserted) {
    await().atMost(SOON).during(Duration.ofSeconds(2)).untilAsserted(asserted);
  }

  /** What is removed is gone for good. */
  @ParameterizedTest
  @ValueSource(longs = {8 * 24 * HOUR, -8 * 24 * HOUR})
  void aStepOfTheClockRemovesNoDeletedService(long step) throws Exception {
    assertThat(refusal(writes(WriteOptions.COMMIT).get(5))).isEmpty();
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      String kept = "/fairlead/services/web/deleted";
      clock.millis = step;
      stays(() -> assertThat(client.checkExists().forPath(kept)).isNotNull());
      assertThat(refusal(() -> controller.services().undeleteService("web", WriteOptions.COMMIT)))
          .hasValueSatisfying(refusal -> assertThat(refusal.field()).isEqualTo("clock"));
      clock.millis = 0;
      stays(() -> assertThat(client.checkExists().forPath(kept)).isNotNull());
    }
    assertThat(refusal(() -> controller.services().undeleteService("web", WriteOptions.COMMIT)))
        .isEmpty();
  }

  /** So does the leader that reads it with such a clock. */
  @Test
  void aNewLeaderWithAWrongClockRemovesNoDeletedService() throws Exception {
    assertThat(refusal(writes(WriteOptions.COMMIT).get(5))).isEmpty();
    controller.close();
    clock.millis = 8 * 24 * HOUR;
    controller = open(true);
    clock.millis = 0;
    await().atMost(SOON).until(() -> Math.abs(difference()) < 1);
    assertThat(refusal(() -> controller.services().undeleteService("web", WriteOptions.COMMIT)))
        .isEmpty();
  }

  /** Muxes that may be absent withdraw within 70 s, which no clock makes shorter. */
  @Test
  void aStepOfTheClockSettlesNothing() throws Exception {
    DrainOrder order = new DrainOrder(List.of(2), Optional.empty(), Drain.Then.KEEP);
    done(controller.drains().drain("web", order, WriteOptions.COMMIT));
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      for (long step : List.of(HOUR, -HOUR, 0L)) {
        clock.millis = step;
        stays(
            () -> {
              assertThat(client.checkExists().forPath("/fairlead/settled")).isNull();
              assertThat(drain().now().waitingFor()).isEmpty();
              assertThat(controller.softState().settled().see(image()).waitsOfGeneration(1))
                  .extracting(SettledMoves.Wait::text)
                  .containsExactly("some mux may be absent that this controller never saw");
            });
      }
    }
  }

  private ServiceImage image() {
    return controller.plane().read("web", stored -> stored.image());
  }

  private DrainView drain() {
    return DrainView.of(image(), controller.softState().drains()).get(0);
  }

  @Test
  void theDifferenceIsAMetricAlsoWithoutCommits() {
    clock.millis = 100_000;
    await().atMost(SOON).until(() -> difference() > 99 && difference() <= 100);
    clock.millis = -100_000;
    await().atMost(SOON).until(() -> difference() < -99 && difference() >= -100);
    clock.millis = 0;
    await().atMost(SOON).until(() -> Math.abs(difference()) < 1);
  }

  private double difference() {
    return controller.metrics().get("fairlead.controller.clock.difference.seconds").gauge().value();
  }

  @Test
  void faultRunsCanSwitchTheCheckOff() throws Exception {
    controller.close();
    clock.millis = MONTH;
    controller = open(false);
    assertThat(refusal(writes(WriteOptions.COMMIT).get(0))).isEmpty();
  }
}
