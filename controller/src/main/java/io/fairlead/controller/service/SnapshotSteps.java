// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.SnapshotWrite;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The snapshots of one service: one at a time is encoded on another thread and written in many
 * events, so that changes wait for one chunk at most. On the service's event thread, unless said
 * otherwise.
 */
final class SnapshotSteps {
  private static final Logger LOG = LoggerFactory.getLogger(SnapshotSteps.class);

  private final ServiceRepository repository;
  private final Epoch epoch;
  private final ServiceLedger ledger;
  private final BooleanSupplier isHeldUp;
  private final Executor events;
  private final Executor background;

  /** Whether one is being encoded or written. */
  private boolean isBusy;

  /**
   * @param isHeldUp whether arrays are being written that nothing names yet: a snapshot of a later
   *     generation would make theirs an old one
   */
  SnapshotSteps(
      ServiceRepository repository,
      Epoch epoch,
      ServiceLedger ledger,
      BooleanSupplier isHeldUp,
      Executor events,
      Executor background) {
    this.repository = repository;
    this.epoch = epoch;
    this.ledger = ledger;
    this.isHeldUp = isHeldUp;
    this.events = events;
    this.background = background;
  }

  /** Begins one if it is due and no other is under way; called after each event. */
  void beginIfDue() {
    if (isBusy
        || isHeldUp.getAsBoolean()
        || !ledger.isKnown()
        || !ledger.stored().isSnapshotDue()) {
      return;
    }
    StoredService service = ledger.stored();
    try {
      background.execute(() -> encode(service));
      isBusy = true;
    } catch (RejectedExecutionException e) {
      LOG.debug("no snapshot of service '{}': the controller is stopping", ledger.name());
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  private void failed(Throwable e) {
    LOG.error("snapshot of service '{}', epoch {}", ledger.name(), epoch.number(), e);
  }

  /** Runs on the background thread. */
  private void encode(StoredService service) {
    try {
      SnapshotWrite snapshot = ServiceRepository.snapshot(service);
      events.execute(() -> write(snapshot));
    } catch (RuntimeException | Error e) {
      failed(e);
      events.execute(() -> isBusy = false);
    }
  }

  /** Writes the next chunk; gives up if the service is gone or has to be read again. */
  private void write(SnapshotWrite snapshot) {
    boolean isMore = false;
    try {
      if (ledger.isKnown()) {
        isMore = repository.writeNext(epoch, ledger.stored(), snapshot);
        if (!isMore) {
          ledger.adopt(repository.publish(epoch, ledger.stored(), snapshot));
        }
      }
    } catch (StoreException.Fenced e) {
      LOG.debug("{}", e.getMessage());
    } catch (StoreException e) {
      // Readers only have more deltas to apply; the next generation tries again.
      LOG.warn("{}", e.getMessage());
    } catch (RuntimeException | Error e) {
      isMore = false;
      failed(e);
    }
    isBusy = isMore;
    if (isMore) {
      events.execute(() -> write(snapshot));
    }
  }
}
