// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.StoreException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits the length of the journal: after a fixed number of records, its own included, the leader
 * of an epoch deletes the oldest.
 */
final class Retention {
  private static final Logger LOG = LoggerFactory.getLogger(Retention.class);
  private static final int EVERY = 200;

  private final Journal journal;
  private final Executor thread;
  private final Epoch epoch;
  private final int every;
  private final int kept;
  private final AtomicInteger noted = new AtomicInteger();

  Retention(Journal journal, Executor thread, Epoch epoch) {
    this(journal, thread, epoch, EVERY, Journal.KEPT);
  }

  Retention(Journal journal, Executor thread, Epoch epoch, int every, int kept) {
    this.journal = journal;
    this.thread = thread;
    this.epoch = epoch;
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
      thread.execute(this::removeOld);
    } catch (RejectedExecutionException e) {
      LOG.debug("closed");
    }
  }

  private void removeOld() {
    try {
      journal.removeOld(epoch, kept);
    } catch (StoreException e) {
      LOG.warn("{}", e.getMessage()); // the next round or the next leader repeats it
    }
  }
}
