// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.FORCE;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Proxied;
import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Operation;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A fault in one step of a service's writer ends that step alone. All runs on the test's thread.
 */
class WriterFaultsTest {
  private static final Tree TREE = new Tree("/fairlead");
  private static final Epoch EPOCH = new Epoch(1, Version.after(0));
  private static final Instant START = Instant.ofEpochSecond(1_700_000_000);

  /** Where a snapshot fails, once. */
  enum Snapshot {
    NO_THREAD,
    WRITE
  }

  private final VirtualTime time = new VirtualTime(START);
  private final MemoryStore memory = new MemoryTree(InstantSource.system()).client();
  private final AtomicInteger failures = new AtomicInteger();
  private boolean failsAtClock;
  private boolean failsAtThread;
  private String failsAtWrite = "none";
  private ServiceRepository repository;
  private ServiceWriter writer;

  @BeforeEach
  void open() throws Exception {
    memory.start();
    Roots.create(memory, TREE);
    repository = new ServiceRepository(new ServiceStore(failing(), TREE, Duration.ofSeconds(5)));
    ServiceImage image =
        ServiceImage.create(
            ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)),
            START.getEpochSecond() - 1000);
    writer =
        ServiceWriter.builder(repository, EPOCH, repository.create(EPOCH, image))
            .clock(ClockCheck.off(this::clock, time::nanos, () -> 0))
            .notes(new Notes("test", time, () -> {}))
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
            .threads(time.threads(), this::inBackground)
            .timer(time.timer)
            .build();
  }

  @AfterEach
  void close() {
    writer.close();
    memory.close();
  }

  private Instant clock() {
    if (failsAtClock) {
      failsAtClock = false;
      failures.incrementAndGet();
      throw new IllegalStateException("a fault");
    }
    return time.instant();
  }

  private void inBackground(Runnable task) {
    if (failsAtThread) {
      failsAtThread = false;
      failures.incrementAndGet();
      throw new InternalError("no thread");
    }
    task.run();
  }

  private Store failing() {
    return Proxied.by(
        Store.class,
        (self, method, arguments) -> {
          if (method.getName().equals("write") && names(arguments[0], failsAtWrite)) {
            failsAtWrite = "none";
            failures.incrementAndGet();
            throw new InternalError("a fault");
          }
          return Proxied.call(memory, method, arguments);
        });
  }

  private static boolean names(Object operations, String node) {
    return ((List<?>) operations)
        .stream().anyMatch(each -> ((Operation) each).path().contains("/" + node));
  }

  private Result await(CompletionStage<Result> stage) throws Exception {
    time.run();
    return done(stage);
  }

  private Result add(int... ids) throws Exception {
    return await(
        writer.change(Arrays.stream(ids).mapToObj(Requests::add).toList(), WriteOptions.COMMIT));
  }

  @Test
  void aDeadlineThatCannotBeAskedForIsAskedForAgain() throws Exception {
    add(1, 2);
    time.pass(Duration.ofSeconds(1000));
    UpkeepOrder order = new UpkeepOrder(Kind.REBALANCE, 1, 10, Map.of(1, 300.0, 2, 100.0));
    await(writer.startUpkeep(order, WriteOptions.COMMIT));
    failsAtClock = true;
    writer.begin();
    time.pass(Duration.ofSeconds(1));
    assertThat(failures).hasValue(1);
    time.pass(Duration.ofSeconds(1000));
    assertThat(writer.image().upkeep().orElseThrow().iterations()).isGreaterThan(3);
  }

  /** A snapshot is due each few changes of all buckets. */
  @ParameterizedTest
  @EnumSource
  void aSnapshotThatFailsIsFollowedByOthers(Snapshot fault) throws Exception {
    add(1, 2, 3, 4);
    writer.begin();
    time.pass(Duration.ofSeconds(1));
    failsAtThread = fault == Snapshot.NO_THREAD;
    failsAtWrite = fault == Snapshot.WRITE ? "latest_snapshot" : "none";
    for (int i = 0; failures.get() == 0 && i < 20; i++) {
      move(i);
    }
    assertThat(failures).hasValue(1);
    long last = snapshot();
    for (int i = 0; snapshot() == last && i < 20; i++) {
      move(i);
    }
    assertThat(snapshot()).isGreaterThan(last);
  }

  private void move(int i) throws Exception {
    await(writer.change(List.of(weight(1 + i % 4, 1000 + i)), FORCE));
    time.pass(Duration.ofSeconds(1));
  }

  private long snapshot() throws Exception {
    return repository.read("web").orElseThrow().state().generations().snapshot();
  }
}
