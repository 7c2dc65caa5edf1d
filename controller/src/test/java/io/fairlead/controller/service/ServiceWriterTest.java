// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.Requests;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A service that is deleted while its writer still gets requests, and what its writer does by
 * itself.
 */
class ServiceWriterTest {
  private static final Tree TREE = new Tree("/fairlead");
  private static final Epoch EPOCH = new Epoch(1, Version.after(0));

  private TestingServer server;
  private CuratorFramework client;
  private ServiceRepository repository;
  private final SettableClock clock = new SettableClock(2000);
  private final AtomicInteger notes = new AtomicInteger();
  private final ScheduledThreadPoolExecutor alarms =
      EventTimer.thread(DaemonThreads.named("alarms"));
  private final EventTimer timer =
      new EventTimer(
          EventTimer.alarms(alarms), clock, System::nanoTime, () -> Optional.of(clock.instant()));
  private StoredService stored;
  private ServiceWriter writer;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    client = ZooKeeperClient.create(server.getConnectString());
    client.start();
    Roots.create(ZooKeeperStore.of(client, TREE), TREE);
    repository =
        new ServiceRepository(
            new ServiceStore(ZooKeeperStore.of(client, TREE), TREE, Duration.ofSeconds(5)));
    stored =
        repository.create(
            EPOCH,
            ServiceImage.create(
                ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)), 1000));
    writer =
        ServiceWriter.builder(repository, EPOCH, stored)
            .clock(ClockCheck.off(clock, System::nanoTime, () -> 0))
            .notes(new Notes("test", clock, notes::incrementAndGet))
            .metrics(new CommitMetrics(new SimpleMeterRegistry()))
            .addresses(new Addresses(List::of, VipGuard.none()))
            .live(
                new FakeConnections(),
                new SettledServices(
                    () -> MuxPresence.NONE,
                    () -> 0,
                    committed -> 0,
                    SettledMoves.Told.AT_ONCE,
                    config -> SettledMoves.Sharing.NONE))
            .threads(ForkJoinPool.commonPool(), ForkJoinPool.commonPool())
            .timer(timer)
            .build();
    writer.begin();
  }

  @AfterEach
  void close() throws Exception {
    writer.close();
    alarms.shutdown();
    client.close();
    server.close();
  }

  @Test
  void whatComesAfterADeletionFindsNoService() throws Exception {
    done(writer.delete(WriteOptions.PLAN));
    assertThat(writer.isGone()).isFalse();
    done(writer.delete(WriteOptions.COMMIT));
    assertThat(writer.isGone()).isTrue();
    Refusal late = refusal(writer.change(List.of(add(1)), WriteOptions.COMMIT));
    assertThat(late.kind()).isEqualTo(Refusal.Kind.NOT_FOUND);
    assertThat(refusal(writer.delete(WriteOptions.COMMIT)).kind())
        .isEqualTo(Refusal.Kind.NOT_FOUND);
  }

  /** A deletion that succeeded although its answer was lost. */
  @Test
  void aServiceThatHasVanishedIsGoneAtTheSecondLook() throws Exception {
    writer.close(); // requests alone look
    repository.delete(EPOCH, stored);
    repository.store().removeRest(EPOCH, "web");
    assertThat(refusal(writer.change(List.of(add(1)), WriteOptions.COMMIT)).kind())
        .isEqualTo(Refusal.Kind.UNAVAILABLE);
    assertThat(writer.isGone()).isFalse();
    assertThat(refusal(writer.change(List.of(add(1)), WriteOptions.COMMIT)).kind())
        .isEqualTo(Refusal.Kind.NOT_FOUND);
    assertThat(writer.isGone()).isTrue();
  }

  /** The leader's own writes leave records too, which must be deleted eventually. */
  @Test
  void theLeadersOwnIterationsAreCounted() throws Exception {
    done(writer.change(List.of(add(1), add(2)), WriteOptions.PLAN));
    assertThat(notes).as("a dry run leaves no record").hasValue(0);
    done(writer.change(List.of(add(1), add(2)), WriteOptions.COMMIT));
    clock.set(clock.seconds() + 1000);
    UpkeepOrder order = new UpkeepOrder(Kind.REBALANCE, 1, 10, Map.of(1, 300.0, 2, 100.0));
    done(writer.startUpkeep(order, WriteOptions.COMMIT));
    assertThat(notes).hasValue(2);
    for (int iteration = 2; iteration <= 4; iteration++) {
      int expected = iteration;
      clock.set(clock.seconds() + 240);
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () -> {
                timer.compareClocks();
                return writer.image().upkeep().orElseThrow().iterations() == expected;
              });
      assertThat(notes).hasValue(iteration + 1);
    }
    assertThat(
            new Journal(ZooKeeperStore.of(client, TREE), TREE)
                .page(OptionalLong.empty(), 10)
                .entries())
        .hasSize(5);
  }
}
