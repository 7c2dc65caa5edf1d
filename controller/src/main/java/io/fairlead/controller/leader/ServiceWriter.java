// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import com.google.common.util.concurrent.MoreExecutors;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.backends.PoolRules;
import io.fairlead.controller.resources.hold.DefaultHold;
import io.fairlead.controller.resources.hold.Release;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.othello.ArraysWriter;
import io.fairlead.controller.resources.othello.CommittedArrays.Next;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.upkeep.UpkeepJob;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.store.ArraysWrite;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.ServiceState;
import io.fairlead.controller.store.SnapshotWrite;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The only writer of one service, for one epoch: changes run one after another, each on the image
 * that the one before it left. Readers get the image at any time without waiting.
 */
final class ServiceWriter implements ArraysWriter {
  private static final Logger LOG = LoggerFactory.getLogger(ServiceWriter.class);

  private interface Task {
    Result run() throws StoreException;
  }

  private final ServiceRepository repository;
  private final Epoch epoch;
  private final ClockCheck clock;
  private final Notes notes;
  private final CommitMetrics metrics;
  private final Addresses addresses;
  private final UpkeepPlan upkeep = new UpkeepPlan();
  private final LiveConnections live;
  private final Releases releases;
  private final DefaultHold defaultHold;
  private final Executor events;
  private final Executor background;
  private volatile StoredService stored;

  /** Held from the start of a commit until reads show it. */
  private final Lock committing = new ReentrantLock();

  /** Unix seconds before which an iteration is not repeated that found nothing to move. */
  private volatile long idleUntil;

  private final AtomicBoolean isIterating = new AtomicBoolean();
  private final AtomicBoolean isReleasing = new AtomicBoolean();
  private final ArraysSteps arraysSteps;

  /**
   * Whether arrays are being written that nothing names yet: a snapshot of a later generation would
   * make theirs an old one.
   */
  private volatile boolean isWritingAhead;

  private final TransitionWork transitions;
  private final AtomicBoolean isTransiting = new AtomicBoolean();

  /** Whether ZooKeeper may differ from {@code stored}; for the event thread only. */
  private boolean isUncertain;

  /** Whether a snapshot is being encoded or written; for the event thread only. */
  private boolean isSnapshotting;

  /** Whether ZooKeeper no longer has the service. */
  private volatile boolean isGone;

  ServiceWriter(ServiceWriterBuilder builder) {
    repository = builder.repository;
    epoch = builder.epoch;
    clock = builder.clock;
    notes = builder.notes;
    metrics = builder.metrics;
    addresses = builder.addresses;
    transitions = new TransitionWork(builder.drains, builder.metrics);
    events = MoreExecutors.newSequentialExecutor(builder.pool);
    background = builder.background;
    live = builder.live;
    releases = new Releases(live, builder.settled);
    defaultHold = new DefaultHold(live);
    arraysSteps =
        new ArraysSteps(
            this::commitEmpty, this::knownState, repository.store(), epoch, events, background);
    stored = builder.stored;
  }

  /** The writer of {@code stored} in {@code epoch}; everything else has to be given. */
  static ServiceWriterBuilder builder(
      ServiceRepository repository, Epoch epoch, StoredService stored) {
    return new ServiceWriterBuilder(repository, epoch, stored);
  }

  ServiceImage image() {
    return stored.image();
  }

  @Override
  public StoredService stored() {
    return stored;
  }

  @Override
  public boolean isGone() {
    return isGone;
  }

  /** Returns once readers see everything that was committed before this call. */
  void awaitShown() {
    committing.lock();
    committing.unlock();
  }

  String name() {
    return stored.image().config().name();
  }

  CompletionStage<Result> change(List<Change> changes, WriteOptions options) {
    return submit(
        options,
        () -> {
          PoolRules.checkAbsent(image(), changes, options.precondition());
          return commit(Readied.of(image()), changes, options);
        });
  }

  /** The caller has checked {@code changed} against the other services. */
  CompletionStage<Result> changeConfig(ServiceConfig changed, WriteOptions options) {
    return submit(options, () -> commitConfig(changed, options));
  }

  /**
   * Makes the service what {@code wanted} and {@code pool} specify, in one commit of the
   * differences. The caller has checked {@code wanted} against the other services.
   */
  CompletionStage<Result> put(
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

  /** What a request makes of an image at a time, Unix seconds. */
  interface Plan {
    PoolPlan of(ServiceImage image, long now);
  }

  /** Commits {@code plan}, unless it has nothing to do. */
  CompletionStage<Result> commit(Plan plan, WriteOptions options) {
    return submit(
        options,
        () -> {
          PoolPlan planned = plan.of(image(), clock.seconds(options));
          return planned.isEmpty(image())
              ? unchanged(image(), options.dryRun())
              : commit(planned, options);
        });
  }

  /** Starts a rebalance or defragmentation with its first iteration. */
  CompletionStage<Result> startUpkeep(UpkeepOrder order, WriteOptions options) {
    return submit(
        options,
        () ->
            commit(
                upkeep.start(image(), order, clock.seconds(options), options.dryRun()), options));
  }

  /** Stops a running rebalance or defragmentation; does nothing if none is running. */
  CompletionStage<Result> stopUpkeep(WriteOptions options) {
    return submit(
        options,
        () -> {
          if (image().upkeep().filter(UpkeepState::isRunning).isEmpty()) {
            return unchanged(image(), options.dryRun());
          }
          ServiceImage after = image().withUpkeep(image().upkeep().get().stopped());
          long now = Math.max(clock.seconds(options), image().ring().committed());
          return commit(PoolPlan.of(after, Runs.EMPTY, now, options.dryRun()), options);
        });
  }

  /**
   * Runs the next iteration in the background if it is due, by Unix seconds; called periodically.
   */
  void upkeepIfDue(long now) {
    if (isUpkeepDue(now) && isIterating.compareAndSet(false, true)) {
      submit(WriteOptions.COMMIT, this::iterate)
          .whenComplete((result, failure) -> isIterating.set(false));
    }
  }

  /** Steps slow starts and ends drains in the background if it is due; called periodically. */
  void transitIfDue(long now) {
    if (!isGone && transitions.isDue(image(), now) && isTransiting.compareAndSet(false, true)) {
      submit(WriteOptions.COMMIT, this::transit)
          .whenComplete((result, failure) -> isTransiting.set(false));
    }
  }

  private Result transit() throws StoreException {
    Optional<TransitionWork.Next> next =
        transitions.next(image(), clock.seconds(WriteOptions.COMMIT));
    if (next.isEmpty()) {
      return unchanged(image(), false);
    }
    Result result = commit(next.get().plan(), next.get().options());
    transitions.committed(next.get(), result);
    return result;
  }

  private boolean isUpkeepDue(long now) {
    ServiceImage image = image();
    return !isGone
        && now >= idleUntil
        && image
            .upkeep()
            .filter(state -> state.isRunning() && now >= UpkeepJob.due(image, state))
            .isPresent();
  }

  private Result iterate() throws StoreException {
    long now = clock.seconds(WriteOptions.COMMIT);
    if (!isUpkeepDue(now)) {
      return unchanged(image(), false);
    }
    PoolPlan plan = upkeep.step(image(), now, false);
    UpkeepState after = plan.after().upkeep().orElseThrow();
    if (plan.result().movedBuckets() == 0 && after.isRunning()) {
      idleUntil = now + image().config().windowSeconds();
      return unchanged(image(), false);
    }
    String what = "%s of %s, iteration %d".formatted(after.kind(), name(), after.iterations());
    return commit(plan, WriteOptions.COMMIT.with(Origin.controller(what)));
  }

  /** Begins or ends the hold that the service has by default; called periodically. */
  void holdIfDue(long now) {
    StoredService at = stored; // of one moment
    if (!isGone) {
      defaultHold.look(at.image(), at.version(), now, this::changeConfig);
    }
  }

  /** Looks after held buckets in the background if it is time to; called periodically. */
  void releaseIfDue(long now) {
    if (isReleaseDue(now) && isReleasing.compareAndSet(false, true)) {
      submit(WriteOptions.COMMIT, this::release)
          .whenComplete((result, failure) -> isReleasing.set(false));
    }
  }

  private boolean isReleaseDue(long now) {
    return !isGone && releases.isDue(image(), now);
  }

  /**
   * Leaves no audit record: it may happen every few seconds for days, and no client asked for it.
   */
  private Result release() throws StoreException {
    long now = Math.max(clock.seconds(WriteOptions.COMMIT), image().ring().committed());
    if (!isReleaseDue(now)) {
      return unchanged(image(), false);
    }
    Release release = releases.next(image(), now);
    if (release.runs().size() > 0) {
      commit(PoolPlan.releasing(image(), release.runs(), now), repository);
      metrics.released(name(), "report", release.byReport());
      metrics.released(name(), "limit", release.atLimit());
      metrics.released(name(), "single", release.single());
    }
    releases.ask(image(), now);
    return unchanged(image(), false);
  }

  /** Leaves no audit record, for the same reason. */
  @Override
  public CompletionStage<Optional<Commit>> commitArrays(Proposal proposal) {
    AtomicReference<Commit> committed = new AtomicReference<>();
    return submit(
            WriteOptions.COMMIT,
            () -> {
              long now = Math.max(clock.seconds(WriteOptions.COMMIT), image().ring().committed());
              Optional<Commit> proposed = proposal.on(stored, now);
              if (proposed.isPresent()) {
                Optional<ArraysWrite> arrays = proposed.get().arrays().map(Next::write);
                Optional<LatestArrays> before = stored.state().arrays();
                commit(
                    PoolPlan.releasing(image(), proposed.get().releases(), now),
                    repository,
                    arrays);
                committed.set(proposed.get());
                arraysSteps.removeOld(before);
              }
              return unchanged(image(), false);
            })
        .thenApply(result -> Optional.ofNullable(committed.get()));
  }

  @Override
  public CompletionStage<Optional<Commit>> commitArrays(
      List<Ahead> ahead, Function<List<Long>, Proposal> proposal) {
    isWritingAhead = true;
    return arraysSteps
        .write(ahead)
        .thenCompose(numbers -> commitArrays(proposal.apply(numbers)))
        .whenComplete(
            (done, failure) ->
                events.execute(
                    () -> {
                      isWritingAhead = false;
                      snapshotIfDue();
                    }));
  }

  /** Leaves no audit record either. */
  private CompletionStage<Long> commitEmpty() {
    return submit(
            WriteOptions.COMMIT,
            () -> {
              long now = Math.max(clock.seconds(WriteOptions.COMMIT), image().ring().committed());
              commit(PoolPlan.of(image(), Runs.EMPTY, now, false), repository);
              return unchanged(image(), false);
            })
        .thenApply(Result::generation);
  }

  private ServiceState knownState() throws StoreException {
    if (isUncertain || isGone) {
      throw new StoreException(
          "service '%s' %s".formatted(name(), isGone ? "is gone" : "has to be read again"));
    }
    return stored.state();
  }

  CompletionStage<Result> delete(WriteOptions options) {
    return submit(
        options,
        () -> {
          Result result =
              Images.unmoved(image(), options.dryRun()).with(DeletedServices.ended(image(), live));
          if (!options.dryRun()) {
            clock.seconds(options); // refuses if it is off
            ServiceRepository noting = noting(options, result);
            show(
                () -> {
                  noting.delete(epoch, stored);
                  isGone = true;
                });
          }
          return result;
        });
  }

  /** Commits changes. */
  private Result commit(Readied readied, List<Change> changes, WriteOptions options)
      throws StoreException {
    ServiceImage from = readied.image();
    long now = clock.seconds(options);
    ServiceImage ready = isSharedOutAs(from.config()) ? from : from.withoutJobs();
    PoolPlan plan =
        changes.isEmpty() && !isSharedOutAs(from.config())
            ? PoolPlan.of(ready, now, options)
            : PoolPlan.of(ready, changes, now, options);
    if (plan.isEmpty(image()) && from.config().equals(image().config())) {
      return unchanged(image(), options.dryRun());
    }
    ServiceRules.checkNamesAll(from.config(), plan.after().pool());
    return commit(plan.with(ready, live).with(readied.hold()), readied.before(), options);
  }

  private Result commit(PoolPlan plan, WriteOptions options) throws StoreException {
    return commit(plan, Optional.empty(), options);
  }

  private Result commit(PoolPlan plan, Optional<PoolPlan> before, WriteOptions options)
      throws StoreException {
    addresses.claim(image(), plan.after(), clock.seconds(options), options.dryRun());
    if (!options.dryRun()) {
      if (before.isPresent()) {
        commit(before.get(), repository);
      }
      ServiceRepository noting = noting(options, plan.result());
      int iterations = iterations();
      commit(plan, noting);
      addresses.settle(name());
      if (iterations() > 0 && iterations() != iterations) {
        String kind = image().upkeep().orElseThrow().kind().toString();
        metrics.iterated(name(), kind, plan.result().movedBuckets());
      }
    }
    return plan.result();
  }

  private void commit(PoolPlan plan, ServiceRepository noting) throws StoreException {
    commit(plan, noting, Optional.empty());
  }

  private void commit(PoolPlan plan, ServiceRepository noting, Optional<ArraysWrite> arrays)
      throws StoreException {
    show(
        () ->
            stored =
                metrics.time(
                    () -> noting.commit(epoch, stored, plan.after(), plan.delta(), arrays)));
    metrics.committed(name(), plan.result().moved());
    events.execute(this::snapshotIfDue);
  }

  /** The image to start from, with {@code wanted} as configuration. */
  private Readied readied(ServiceConfig wanted, WriteOptions options) {
    long now = clock.seconds(options);
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
    Optional<PoolPlan> turn = from.turn(image(), clock.seconds(options), options.dryRun());
    if (turn.isPresent()) {
      return commit(turn.get(), from.before(), options);
    }
    ServiceImage after = from.image();
    addresses.claim(image(), after, clock.seconds(options), options.dryRun());
    Result result = Images.unmoved(after, options.dryRun()).with(from.hold());
    if (!options.dryRun()) {
      if (from.before().isPresent()) {
        commit(from.before().get(), repository);
      }
      ServiceRepository noting = noting(options, result);
      show(() -> stored = metrics.time(() -> noting.changeConfig(epoch, stored, after)));
      addresses.settle(name());
    }
    return result;
  }

  private interface Step {
    void run() throws StoreException;
  }

  /** Commits and adopts what was committed. */
  private void show(Step step) throws StoreException {
    committing.lock();
    try {
      step.run();
    } finally {
      committing.unlock();
    }
  }

  private boolean isSharedOutAs(ServiceConfig config) {
    return config.assignment() == image().config().assignment();
  }

  private int iterations() {
    return image().upkeep().map(UpkeepState::iterations).orElse(0);
  }

  private ServiceRepository noting(WriteOptions options, Result result) {
    return repository.with(notes.of(epoch, options.origin(), result));
  }

  private static Result unchanged(ServiceImage image, boolean dryRun) {
    return Result.unchanged(image.config().name(), image.ring().generation(), dryRun);
  }

  private CompletionStage<Result> submit(WriteOptions options, Task task) {
    CompletableFuture<Result> done = new CompletableFuture<>();
    events.execute(
        () -> {
          try {
            readAgainIfUncertain();
            if (isGone) {
              throw Images.notFound(name());
            }
            options.precondition().check(Optional.of(stored.version()));
            done.complete(task.run());
          } catch (Refusal e) {
            done.completeExceptionally(e);
          } catch (StoreException e) {
            isUncertain = true;
            LOG.warn("{}", e.getMessage());
            done.completeExceptionally(Unavailable.store(e));
          } catch (RuntimeException | Error e) {
            isUncertain = true;
            LOG.error("service '{}', epoch {}", name(), epoch.number(), e);
            done.completeExceptionally(e);
          }
        });
    return done;
  }

  private void readAgainIfUncertain() throws StoreException {
    if (!isUncertain) {
      return;
    }
    Optional<StoredService> read = repository.read(name());
    if (read.isPresent()) {
      stored = read.get();
      repository.removeOld(epoch, stored);
    }
    isGone = read.isEmpty();
    isUncertain = false;
    addresses.settle(name());
  }

  /**
   * Encodes a snapshot on another thread and writes it in many events, so that changes wait for one
   * chunk at most.
   */
  private void snapshotIfDue() {
    if (isSnapshotting || isWritingAhead || isUncertain || isGone || !stored.isSnapshotDue()) {
      return;
    }
    isSnapshotting = true;
    StoredService service = stored;
    try {
      background.execute(() -> encode(service));
    } catch (RejectedExecutionException e) {
      LOG.debug("no snapshot of service '{}': the controller is stopping", name());
    }
  }

  /** Runs on the background thread. */
  private void encode(StoredService service) {
    try {
      SnapshotWrite snapshot = ServiceRepository.snapshot(service);
      events.execute(() -> write(snapshot));
    } catch (RuntimeException | Error e) {
      LOG.error("snapshot of service '{}', epoch {}", name(), epoch.number(), e);
      events.execute(() -> isSnapshotting = false);
    }
  }

  /** Writes the next chunk; gives up if the service is gone or has to be read again. */
  private void write(SnapshotWrite snapshot) {
    try {
      if (!isUncertain && !isGone) {
        if (repository.writeNext(epoch, stored, snapshot)) {
          events.execute(() -> write(snapshot));
          return;
        }
        stored = repository.publish(epoch, stored, snapshot);
      }
    } catch (StoreException.Fenced e) {
      LOG.debug("{}", e.getMessage());
    } catch (StoreException e) {
      // Readers only have more deltas to apply; the next generation tries again.
      LOG.warn("{}", e.getMessage());
    }
    isSnapshotting = false;
  }
}
