// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.ArraysWrite;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What is committed of one service, and how plans for it are committed. All changes are made on the
 * service's event thread; readers get the image at any time without waiting.
 */
final class ServiceLedger {
  private final ServiceRepository repository;
  private final Epoch epoch;
  private final ClockCheck clock;
  private final Notes notes;
  private final CommitMetrics metrics;
  private final Addresses addresses;
  private volatile StoredService stored;

  /** Held from the start of a commit until reads show it. */
  private final Lock committing = new ReentrantLock();

  /** Whether ZooKeeper may differ from {@code stored}; set by the event thread only. */
  private volatile boolean isUncertain;

  /** Why it cannot be read again. */
  private volatile Optional<String> damage = Optional.empty();

  /** Whether ZooKeeper no longer has the service. */
  private volatile boolean isGone;

  ServiceLedger(ServiceWriterBuilder builder) {
    repository = builder.repository;
    epoch = builder.epoch;
    clock = builder.clock;
    notes = builder.notes;
    metrics = builder.metrics;
    addresses = builder.addresses;
    stored = builder.stored;
  }

  StoredService stored() {
    return stored;
  }

  ServiceImage image() {
    return stored.image();
  }

  String name() {
    return stored.image().config().name();
  }

  boolean isGone() {
    return isGone;
  }

  /** Whether {@link #stored} is what ZooKeeper has. */
  boolean isKnown() {
    return !isUncertain && !isGone;
  }

  /**
   * Waits for what is being committed. Whether readers see everything then that was committed
   * before this call: not while it is unknown whether a commit took place. A damaged service shows
   * that it is.
   */
  boolean awaitShown() {
    committing.lock();
    committing.unlock();
    return !isUncertain || damage.isPresent();
  }

  /** Why ZooKeeper has a service that cannot be read. */
  Optional<String> damage() {
    return damage;
  }

  /** A write may have failed or not: what ZooKeeper has is read before anything else. */
  void doubt() {
    isUncertain = true;
  }

  void readAgainIfUncertain() throws StoreException {
    if (!isUncertain) {
      return;
    }
    Optional<StoredService> read = readAgain();
    if (read.isPresent()) {
      stored = read.get();
      repository.removeOld(epoch, stored);
    }
    isGone = read.isEmpty();
    isUncertain = false;
    addresses.settle(name());
  }

  private Optional<StoredService> readAgain() throws StoreException {
    try {
      Optional<StoredService> read = repository.read(name());
      damage = Optional.empty();
      return read;
    } catch (StoreException.Damaged e) {
      damage = Optional.of(e.getMessage());
      throw e;
    }
  }

  /** Commits {@code plan} with an audit record, unless it is a dry run. */
  Result commit(PoolPlan plan, WriteOptions options) throws StoreException {
    return commit(plan, Optional.empty(), options);
  }

  /**
   * As above.
   *
   * @param before is committed first, without a record
   */
  Result commit(PoolPlan plan, Optional<PoolPlan> before, WriteOptions options)
      throws StoreException {
    addresses.claim(image(), plan.after(), clock.second(options), options.dryRun());
    if (!options.dryRun()) {
      if (before.isPresent()) {
        commitUnnoted(before.get());
      }
      ServiceRepository noting = noting(options, plan.result());
      int iterations = iterations();
      commit(plan, noting, Optional.empty());
      addresses.settle(name());
      if (iterations() > 0 && iterations() != iterations) {
        String kind = image().upkeep().orElseThrow().kind().toString();
        metrics.iterated(name(), kind, plan.result().movedBuckets());
      }
    }
    return plan.result();
  }

  /** Leaves no audit record: no client asked for it, and it may happen every few seconds. */
  void commitUnnoted(PoolPlan plan) throws StoreException {
    commit(plan, repository, Optional.empty());
  }

  /** As above, with new arrays. */
  void commitUnnoted(PoolPlan plan, Optional<ArraysWrite> arrays) throws StoreException {
    commit(plan, repository, arrays);
  }

  private void commit(PoolPlan plan, ServiceRepository noting, Optional<ArraysWrite> arrays)
      throws StoreException {
    show(
        () ->
            stored =
                metrics.time(
                    () -> noting.commit(epoch, stored, plan.after(), plan.delta(), arrays)));
    metrics.committed(name(), plan.result().moved());
  }

  /** Commits an image that differs only by its configuration. */
  Result commitConfig(
      ServiceImage after, Optional<PoolPlan> before, Result result, WriteOptions options)
      throws StoreException {
    addresses.claim(image(), after, clock.second(options), options.dryRun());
    if (!options.dryRun()) {
      if (before.isPresent()) {
        commitUnnoted(before.get());
      }
      ServiceRepository noting = noting(options, result);
      show(() -> stored = metrics.time(() -> noting.changeConfig(epoch, stored, after)));
      addresses.settle(name());
    }
    return result;
  }

  void delete(Result result, WriteOptions options) throws StoreException {
    clock.second(options); // refuses if it is off
    ServiceRepository noting = noting(options, result);
    show(
        () -> {
          noting.delete(epoch, stored);
          isGone = true;
        });
  }

  /** What was stored is stored with a newer snapshot. */
  void adopt(StoredService withSnapshot) {
    stored = withSnapshot;
  }

  private interface Step {
    void run() throws StoreException;
  }

  /** Commits and adopts what was committed. */
  private void show(Step step) throws StoreException {
    committing.lock();
    try {
      step.run();
    } catch (StoreException | RuntimeException | Error e) {
      doubt();
      throw e;
    } finally {
      committing.unlock();
    }
  }

  private int iterations() {
    return image().upkeep().map(UpkeepState::iterations).orElse(0);
  }

  private ServiceRepository noting(WriteOptions options, Result result) {
    return repository.with(notes.of(epoch, options.origin(), result));
  }
}
