// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.StoreException;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits the length of the journal: after a fixed number of records, its own included, the leader
 * deletes the oldest.
 */
final class Retention {
  private static final Logger LOG = LoggerFactory.getLogger(Retention.class);
  private static final int EVERY = 200;

  private final Journal journal;
  private final Executor thread;
  private final Supplier<Optional<Epoch>> leading;
  private final int every;
  private final int kept;
  private final AtomicInteger noted = new AtomicInteger();

  /**
   * @param leading the epoch that this controller leads in, empty while it does not
   */
  Retention(Journal journal, Executor thread, Supplier<Optional<Epoch>> leading) {
    this(journal, thread, leading, EVERY, Journal.KEPT);
  }

  Retention(
      Journal journal, Executor thread, Supplier<Optional<Epoch>> leading, int every, int kept) {
    this.journal = journal;
    this.thread = thread;
    this.leading = leading;
    this.every = every;
    this.kept = kept;
  }

  /** Counts a record that is about to be written. */
  void noted() {
    if (noted.incrementAndGet() % every == 0) {
      tidy();
    }
  }

  /** Deletes old records in the background. */
  void tidy() {
    try {
      thread.execute(() -> leading.get().ifPresent(this::removeOld));
    } catch (RejectedExecutionException e) {
      LOG.debug("closed");
    }
  }

  private void removeOld(Epoch epoch) {
    try {
      journal.removeOld(epoch, kept);
    } catch (StoreException e) {
      LOG.warn("{}", e.getMessage()); // the next round or the next leader repeats it
    }
  }
}
