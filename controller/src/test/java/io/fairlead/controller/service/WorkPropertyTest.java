// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.plan.UpkeepPlan;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.hold.HoldCounts;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * What a leader does by itself, scheduled and beside it a naive leader of a copy of the service,
 * which asks in each step whether something is due. After commits, reports, lost leadership and
 * clocks that were set, and then a while without any, both have done the same.
 */
class WorkPropertyTest {
  private static final Instant START = Instant.ofEpochSecond(1_700_000_000);
  private static final Tree TREE = new Tree("/fairlead");
  private static final Epoch EPOCH = new Epoch(1, Version.after(0));
  private static final int BACKENDS = 6;
  private static final Duration STEP = Duration.ofSeconds(1);
  private static final Duration CALM = Duration.ofSeconds(1500);

  private VirtualTime time;

  /** A service, its agents and its only mux. */
  private final class Twin {
    private final FakeConnections live = new FakeConnections();
    private final CommitMetrics metrics = new CommitMetrics(new SimpleMeterRegistry());
    private final SettledServices settled =
        new SettledServices(
            this::presence,
            () -> TimeUnit.NANOSECONDS.toSeconds(time.nanos()),
            committed -> Math.max(0, time.instant().getEpochSecond() - committed),
            SettledMoves.Told.AT_ONCE,
            config -> SettledMoves.Sharing.NONE);
    private final DrainWatch drains = new DrainWatch(live, settled, time::nanos);
    private final MemoryStore store = new MemoryTree(time).client();
    private final ServiceWriter writer;
    private long applied;

    Twin(ServiceImage image) throws Exception {
      store.start();
      Roots.create(store, TREE);
      ServiceRepository repository =
          new ServiceRepository(new ServiceStore(store, TREE, Duration.ofSeconds(5)));
      writer =
          ServiceWriter.builder(repository, EPOCH, repository.create(EPOCH, image))
              .clock(ClockCheck.off(time, time::nanos, () -> 0))
              .notes(new Notes("test", time, () -> {}))
              .metrics(metrics)
              .addresses(new Addresses(List::of, VipGuard.none()))
              .live(live, settled)
              .drains(drains)
              .threads(time.threads(), time.threads())
              .timer(time.timer)
              .build();
    }

    private MuxPresence presence() {
      return new MuxPresence(
          List.of(new MuxPresence.Present(DrainStory.mux("mux1", applied), DrainStory.BEHIND)),
          List.of(),
          0);
    }

    private Result done(CompletionStage<Result> stage) {
      time.run();
      try {
        return stage.toCompletableFuture().join();
      } catch (CompletionException e) {
        throw (Refusal) e.getCause();
      }
    }

    /** What the answer is, in a word. */
    private String ask(Function<ServiceWriter, CompletionStage<Result>> request) {
      try {
        done(request.apply(writer));
        return "done";
      } catch (Refusal e) {
        return e.field();
      }
    }

    private void muxApplies() {
      applied = writer.image().ring().generation();
    }

    /** All that is to be the same in the end, whenever it was done. */
    private String state() {
      ServiceImage image = writer.image();
      Transitions transitions = image.transitions();
      return "pool %s, hold %d of %d buckets, slow starts %s, drains %s, former %s, upkeep %s"
          .formatted(
              image.pool(),
              image.config().holdSeconds(),
              HoldCounts.of(image).named(),
              transitions.slowStarts().keySet(),
              transitions.drains().values().stream().map(Drain::isRunning).toList(),
              transitions.former().keySet(),
              image.upkeep().map(UpkeepState::phase));
    }
  }

  /** Asks all the time. */
  private final class Naive {
    private final Twin twin;
    private final List<Work> works;

    Naive(Twin twin) {
      this.twin = twin;
      works =
          List.of(
              new UpkeepWork(new UpkeepPlan(), this::commit),
              new DefaultHoldWork(
                  twin.live,
                  (config, options) -> twin.done(twin.writer.changeConfig(config, options))),
              new ReleaseWork(twin.live, twin.settled, twin.metrics, this::commit),
              new TransitionWork(twin.drains, twin.metrics, this::commit));
    }

    private Result commit(PoolPlan plan, WriteOptions options) {
      return twin.done(twin.writer.commit((image, now) -> plan, options));
    }

    void step() throws StoreException {
      Instant now = time.instant();
      for (Work work : works) {
        if (time.isLeading && !work.due(twin.writer.image(), now).isAfter(now)) {
          try {
            work.run(twin.writer.image(), now);
          } catch (Refusal e) {
            continue; // as it is due, it is tried again
          }
        }
      }
    }
  }

  private ServiceImage image(Random random) {
    ServiceSpec spec =
        Requests.sized("web", "10.99.0.1", 256).toBuilder()
            .windowSeconds(60)
            .holdSeconds(
                random.nextBoolean() ? Optional.of(random.nextInt(3) * 200) : Optional.empty())
            .build();
    ServiceImage empty =
        ServiceImage.create(
            ServiceRules.created(spec, 1, new Random(1)), START.getEpochSecond() - 2000);
    List<Change> pool = IntStream.rangeClosed(1, BACKENDS).mapToObj(Requests::add).toList();
    return PoolPlan.of(empty, pool, START.minusSeconds(2000), Requests.FORCE).after();
  }

  @Property(tries = 50)
  void whatIsScheduledIsDoneAsIfItWereAskedForAllTheTime(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    time = new VirtualTime(START);
    ServiceImage image = image(random);
    Twin scheduled = new Twin(image);
    Twin polled = new Twin(image);
    List<Twin> twins = List.of(scheduled, polled);
    Naive naive = new Naive(polled);
    scheduled.writer.begin();
    int added = BACKENDS;
    for (int i = 0; i < 40; i++) {
      int id = 1 + random.nextInt(BACKENDS);
      Function<ServiceWriter, CompletionStage<Result>> request = null;
      switch (random.nextInt(14)) {
        case 0, 1 -> {
          int weight = random.nextInt(1, 200);
          request = writer -> writer.change(List.of(Requests.weight(id, weight)), Requests.FORCE);
        }
        case 2 -> {
          int next = ++added;
          Change add =
              new Change.Add(next, "10.1.0." + next, 100, Optional.of(random.nextInt(10, 300)));
          request = writer -> writer.change(List.of(add), Requests.FORCE);
        }
        case 3, 4 -> {
          DrainOrder order =
              new DrainOrder(
                  List.of(id),
                  random.nextBoolean() ? Optional.of(random.nextInt(10, 900)) : Optional.empty(),
                  Drain.Then.KEEP);
          request =
              writer ->
                  writer.commit(
                      (before, now) -> PoolPlan.drain(before, order, now, Requests.FORCE),
                      Requests.FORCE);
        }
        case 5 -> {
          UpkeepOrder order =
              new UpkeepOrder(
                  random.nextBoolean() ? Kind.REBALANCE : Kind.DEFRAGMENT,
                  1,
                  random.nextInt(20, 50),
                  Map.of());
          twins.forEach(twin -> twin.ask(writer -> writer.stopUpkeep(Requests.FORCE)));
          request = writer -> writer.startUpkeep(order, Requests.FORCE);
        }
        case 6 -> time.isLeading = !time.isLeading;
        case 7 -> time.jump(Duration.ofMillis(random.nextInt(-300_000, 300_000)));
        case 8 -> twins.forEach(twin -> twin.live.has(id));
        case 9 -> {
          int bucket = random.nextInt(256);
          twins.forEach(twin -> twin.live.has(id, bucket));
        }
        case 10 -> twins.forEach(twin -> twin.live.silence(id));
        case 11 -> twins.forEach(Twin::muxApplies);
        case 12 -> twins.forEach(twin -> twin.live.answer());
        default -> pass(Duration.ofSeconds(random.nextInt(200)), naive, List.of());
      }
      if (request != null) {
        Function<ServiceWriter, CompletionStage<Result>> asked = request;
        assertThat(scheduled.ask(asked)).isEqualTo(polled.ask(asked));
      }
      pass(Duration.ofMillis(random.nextInt(4000)), naive, List.of());
    }
    time.isLeading = true;
    for (int id = 1; id <= added; id++) {
      int each = id;
      twins.forEach(twin -> twin.live.has(each));
    }
    pass(CALM, naive, twins);
    assertThat(scheduled.state()).isEqualTo(polled.state());
    assertThat(scheduled.state()).doesNotContain("true").contains("slow starts []");
    scheduled.writer.close();
    twins.forEach(twin -> twin.store.close());
  }

  /**
   * @param calm whose muxes apply all, and whose agents answer
   */
  private void pass(Duration length, Naive naive, List<Twin> calm) throws StoreException {
    for (long millis = 0; millis < length.toMillis(); millis += STEP.toMillis()) {
      time.pass(STEP);
      calm.forEach(
          twin -> {
            twin.muxApplies();
            twin.live.answer();
          });
      naive.step();
    }
  }
}
