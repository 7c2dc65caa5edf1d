// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.store.Epoch;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Whether this controller leads, and the catalogue of the last epoch in which it did. */
final class Lead {
  private volatile Catalogue catalogue;
  private volatile boolean isLeading;

  /** Reads may be answered from {@code loaded}; it is written to only after {@link #begin}. */
  void load(Catalogue loaded) {
    catalogue = loaded;
  }

  synchronized void begin() {
    isLeading = true;
    notifyAll();
  }

  synchronized void end() {
    isLeading = false;
  }

  boolean isLeading() {
    return isLeading;
  }

  /** Of the current epoch or an earlier one; empty before the first. */
  Optional<Catalogue> last() {
    return Optional.ofNullable(catalogue);
  }

  /** The catalogue to write to; empty while another controller leads. */
  Optional<Catalogue> current() {
    return last().filter(loaded -> isLeading);
  }

  /** Which other services of that catalogue have VIPs of one. */
  SettledMoves.Sharing sharing(ServiceConfig config) {
    return last().map(loaded -> loaded.sharing(config)).orElse(SettledMoves.Sharing.NONE);
  }

  Optional<Epoch> epoch() {
    return current().map(Catalogue::epoch);
  }

  /** Whether this controller leads within {@code timeout}. */
  synchronized boolean await(Duration timeout) throws InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    while (!isLeading) {
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (left <= 0) {
        return false;
      }
      wait(left);
    }
    return true;
  }
}
