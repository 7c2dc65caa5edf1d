// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.plan.Readied;
import io.fairlead.controller.plan.UpkeepPlan;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.backends.PoolRules;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.othello.ArraysWriter;
import io.fairlead.controller.resources.othello.CommittedArrays.Next;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.Unavailable;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.stages.StageRules;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.ServiceState;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The only writer of one service, for one epoch: changes run one after another, each on the image
 * that the one before it left. Readers get the image at any time without waiting.
 */
public final class ServiceWriter implements ArraysWriter {
  private static final Logger LOG = LoggerFactory.getLogger(ServiceWriter.class);

  private interface Task {
    Result run() throws StoreException;
  }

  private final ServiceRepository repository;
  private final Epoch epoch;
  private final ClockCheck clock;
  private final LiveConnections live;
  private final DrainWatch drains;
  private final ServiceLedger ledger;
  private final EventQueue events;
  private final UpkeepPlan upkeep = new UpkeepPlan();
  private final SnapshotSteps snapshots;
  private final ArraysSteps arrays;
  private final List<Work> works;

  ServiceWriter(ServiceWriterBuilder builder) {
    repository = builder.repository;
    epoch = builder.epoch;
    clock = builder.clock;
    live = builder.live;
    drains = builder.drains;
    ledger = new ServiceLedger(builder);
    events = new EventQueue(builder.pool, builder.timer, this::schedule);

    arrays =
        new ArraysSteps(
            this::commitEmpty,
            this::knownState,
            repository.store(),
            epoch,
            events::execute,
            builder.background);
    snapshots =
        new SnapshotSteps(
            repository, epoch, ledger, arrays::isWriting, events::execute, builder.background);
    works =
        List.of(
            new UpkeepWork(upkeep, ledger::commit),
            new DefaultHoldWork(live, this::commitConfig),
            new ReleaseWork(
                live,
                builder.settled,
                builder.metrics,
                (plan, options) -> {
                  ledger.commitUnnoted(plan);
                  return plan.result();
                }),
            new TransitionWork(drains, builder.metrics, ledger::commit),
            new StageWork(builder.gate, builder.metrics, ledger::commit));
  }

  /** The writer of {@code stored} in {@code epoch}; everything else has to be given. */
  public static ServiceWriterBuilder builder(
      ServiceRepository repository, Epoch epoch, StoredService stored) {
    return new ServiceWriterBuilder(repository, epoch, stored);
  }

  /** Does by itself what a leader does, from now on. */
  public void begin() {
    events.open();
    events.execute(this::schedule);
  }

  /** Does nothing by itself any more; requests are answered, and refused by the next epoch. */
  public void close() {
    events.close();
  }

  public ServiceImage image() {
    return ledger.image();
  }

  @Override
  public StoredService stored() {
    return ledger.stored();
  }

  @Override
  public boolean isGone() {
    return ledger.isGone();
  }

  /** As {@link ServiceLedger#damage}. */
  public Optional<String> damage() {
    return ledger.damage();
  }

  /** As {@link ServiceLedger#awaitShown}. */
  public boolean awaitShown() {
    return ledger.awaitShown();
  }

  public String name() {
    return ledger.name();
  }

  public CompletionStage<Result> change(List<Change> changes, WriteOptions options) {
    return submit(
        options,
        () -> {
          PoolRules.checkAbsent(image(), changes, options.precondition());
          return commit(Readied.of(image()), changes, options);
        });
  }

  /** The caller has checked {@code changed} against the other services. */
  public CompletionStage<Result> changeConfig(ServiceConfig changed, WriteOptions options) {
    return submit(options, () -> commitConfig(changed, options));
  }

  /**
   * Makes the service what {@code wanted} and {@code pool} specify, in one commit of the
   * differences. The caller has checked {@code wanted} against the other services.
   */
  public CompletionStage<Result> put(
      ServiceConfig wanted, Optional<List<Change.Add>> pool, WriteOptions options) {
    return submit(
        options,
        () -> {
          List<Change> changes =
              pool.map(members -> PoolRules.difference(image().wanted(), members))
                  .orElse(List.of());
          if (!changes.isEmpty() || !isSharedOutAs(wanted)) {
            return commit(readied(wanted, options), changes, options);
          }
          return wanted.equals(image().config())
              ? unchanged(image(), options.dryRun())
              : commitConfig(wanted, options);
        });
  }

  /** What a request makes of an image at a time. */
  public interface Plan {
    PoolPlan of(ServiceImage image, Instant now);
  }

  /** Commits {@code plan}, unless it has nothing to do. */
  public CompletionStage<Result> commit(Plan plan, WriteOptions options) {
    return submit(
        options,
        () -> {
          PoolPlan planned = plan.of(image(), clock.second(options));
          return planned.isEmpty(image())
              ? unchanged(image(), options.dryRun())
              : ledger.commit(planned, options);
        });
  }

  /** Drains backends, and says how long that may take. */
  public CompletionStage<Result> drain(DrainOrder order, WriteOptions options) {
    return commit(
        (image, now) -> {
          PoolPlan plan = PoolPlan.drain(image, order, now, options);
          return plan.withDrains(drains.plan(plan.after(), order.ids()));
        },
        options);
  }

  /** Starts a rebalance or defragmentation with its first iteration. */
  public CompletionStage<Result> startUpkeep(UpkeepOrder order, WriteOptions options) {
    return submit(
        options,
        () ->
            ledger.commit(
                upkeep.start(image(), order, clock.second(options), options.dryRun()), options));
  }

  /** Stops a running rebalance or defragmentation; does nothing if none is running. */
  public CompletionStage<Result> stopUpkeep(WriteOptions options) {
    return submit(
        options,
        () -> {
          if (image().upkeep().filter(UpkeepState::isRunning).isEmpty()) {
            return unchanged(image(), options.dryRun());
          }
          ServiceImage after = image().withUpkeep(image().upkeep().get().stopped());
          Instant now = image().nextCommit(clock.second(options));
          return ledger.commit(PoolPlan.of(after, Runs.EMPTY, now, options.dryRun()), options);
        });
  }

  /** Leaves no audit record: no client asked for it. */
  @Override
  public CompletionStage<Optional<Commit>> commitArrays(Proposal proposal) {
    AtomicReference<Commit> committed = new AtomicReference<>();
    return submit(
            WriteOptions.COMMIT,
            () -> {
              Instant now = image().nextCommit(clock.second(WriteOptions.COMMIT));
              Optional<Commit> proposed = proposal.on(stored(), now.getEpochSecond());
              if (proposed.isPresent()) {
                Optional<LatestArrays> before = stored().state().arrays();
                ledger.commitUnnoted(
                    PoolPlan.releasing(image(), proposed.get().releases(), now),
                    proposed.get().arrays().map(Next::write));
                committed.set(proposed.get());
                arrays.removeOld(before);
              }
              return unchanged(image(), false);
            })
        .thenApply(result -> Optional.ofNullable(committed.get()));
  }

  @Override
  public CompletionStage<Optional<Commit>> commitArrays(
      List<Ahead> ahead, Function<List<Long>, Proposal> proposal) {
    return arrays
        .write(ahead)
        .thenCompose(numbers -> commitArrays(proposal.apply(numbers)))
        .whenComplete(
            (done, failure) ->
                events.execute(
                    () -> {
                      arrays.named();
                      snapshots.beginIfDue();
                    }));
  }

  /** Leaves no audit record either. */
  private CompletionStage<Long> commitEmpty() {
    return submit(
            WriteOptions.COMMIT,
            () -> {
              Instant now = image().nextCommit(clock.second(WriteOptions.COMMIT));
              ledger.commitUnnoted(PoolPlan.of(image(), Runs.EMPTY, now, false));
              return unchanged(image(), false);
            })
        .thenApply(Result::generation);
  }

  private ServiceState knownState() throws StoreException {
    if (!ledger.isKnown()) {
      throw new StoreException(
          "service '%s' %s".formatted(name(), isGone() ? "is gone" : "has to be read again"));
    }
    return stored().state();
  }

  public CompletionStage<Result> delete(WriteOptions options) {
    return submit(
        options,
        () -> {
          Result result = Result.unmoved(image(), options.dryRun()).with(ended());
          if (!options.dryRun()) {
            ledger.delete(result, options);
          }
          return result;
        });
  }

  /**
   * What ends with a service. Removed servers count as well, which keep connections for as long as
   * packets are chained to them; most are gone, so none is missed. A server counts once, however
   * many numbers and addresses it has had.
   */
  private Result.Ended ended() {
    String name = name();
    Set<Integer> backends = new HashSet<>(image().pool().keySet());
    backends.addAll(image().ring().backends().keySet());
    long uncounted =
        image().pool().keySet().stream().filter(id -> live.connections(name, id).isEmpty()).count();
    return new Result.Ended(live.connections(name, backends), (int) uncounted);
  }

  /** Commits changes. */
  private Result commit(Readied readied, List<Change> changes, WriteOptions options)
      throws StoreException {
    ServiceImage from = readied.image();
    Instant now = clock.second(options);
    StageRules.checkKeptAssignment(image(), from.config().assignment());
    ServiceImage ready = isSharedOutAs(from.config()) ? from : from.withoutJobs();
    PoolPlan plan =
        changes.isEmpty() && !isSharedOutAs(from.config())
            ? PoolPlan.of(ready, now, options)
            : PoolPlan.of(ready, changes, now, options);
    if (plan.isEmpty(image()) && from.config().equals(image().config())) {
      return unchanged(image(), options.dryRun());
    }
    ServiceRules.checkNamesAll(from.config(), plan.after().pool());
    return ledger.commit(plan.with(ready, live).with(readied.hold()), readied.before(), options);
  }

  /** The image to start from, with {@code wanted} as configuration. */
  private Readied readied(ServiceConfig wanted, WriteOptions options) {
    Instant now = clock.second(options);
    Readied from = Readied.of(image(), wanted, now, options);
    ServiceRules.checkWindow(from.withConfigOf(image()), wanted.windowSeconds(), now);
    return from;
  }

  private Result commitConfig(ServiceConfig changed, WriteOptions options) throws StoreException {
    Readied from = readied(changed, options);
    ServiceRules.checkNamesAll(changed, image().pool());
    if (!isSharedOutAs(changed)) {
      return commit(from, List.of(), options);
    }
    Optional<PoolPlan> turn = from.turn(image(), clock.second(options), options.dryRun());
    if (turn.isPresent()) {
      return ledger.commit(turn.get(), from.before(), options);
    }
    Result result = Result.unmoved(from.image(), options.dryRun()).with(from.hold());
    return ledger.commitConfig(from.image(), from.before(), result, options);
  }

  private boolean isSharedOutAs(ServiceConfig config) {
    return config.assignment() == image().config().assignment();
  }

  private static Result unchanged(ServiceImage image, boolean dryRun) {
    return Result.unchanged(image.config().name(), image.ring().generation(), dryRun)
        .withPool(image.pool());
  }

  private CompletionStage<Result> submit(WriteOptions options, Task task) {
    CompletableFuture<Result> done = new CompletableFuture<>();
    events.execute(
        () ->
            run(
                () -> {
                  if (isGone()) {
                    throw Refusal.noService(name());
                  }
                  options.precondition().check(Optional.of(stored().version()));
                  done.complete(task.run());
                },
                done::completeExceptionally));
    return done;
  }

  private interface Event {
    void run() throws StoreException;
  }

  /** Runs one event on what ZooKeeper has, and schedules what follows from it. */
  private void run(Event event, Consumer<Throwable> failed) {
    try {
      ledger.readAgainIfUncertain();
      event.run();
    } catch (Refusal e) {
      failed.accept(e);
    } catch (StoreException e) {
      ledger.doubt();
      LOG.warn("{}", e.getMessage());
      if (e instanceof StoreException.Fenced) {
        close();
      }
      failed.accept(Unavailable.store(e));
    } catch (RuntimeException | Error e) {
      ledger.doubt();
      LOG.error("service '{}', epoch {}", name(), epoch.number(), e);
      failed.accept(e);
    }
    schedule();
  }

  /** Schedules what the leader does by itself, by the image as it is now. */
  private void schedule() {
    if (isGone()) {
      close();
      return;
    }
    snapshots.beginIfDue();
    if (!ledger.isKnown()) {
      if (ledger.damage().isEmpty()) { // else a request reads again
        events.schedule("read again", EventQueue.AT_ONCE, at -> run(() -> {}, failure -> {}));
      }
      return;
    }
    for (Work work : works) {
      events.schedule(work.tag(), due(work), at -> run(() -> runIfDue(work, at), failure -> {}));
    }
  }

  /** At once where that fails: as an event it fails again, which is logged, and is tried again. */
  private Instant due(Work work) {
    try {
      return work.due(image(), clock.shown());
    } catch (RuntimeException | Error e) {
      LOG.debug("{} of service '{}'", work.tag(), name(), e);
      return EventQueue.AT_ONCE;
    }
  }

  private void runIfDue(Work work, Instant now) throws StoreException {
    if (!isGone() && !work.due(image(), now).isAfter(now)) {
      work.run(image(), now);
    }
  }
}
