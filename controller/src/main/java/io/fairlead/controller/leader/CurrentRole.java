// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** The role that a controller has now. Each reader looks once and works with what it found. */
final class CurrentRole {
  private volatile Role role;

  @GuardedBy("this")
  private boolean isEnded;

  CurrentRole(Role first) {
    role = first;
  }

  Role get() {
    return role;
  }

  Optional<Term> term() {
    return role.term();
  }

  /** Swaps, then ends the role before; after {@link #end} only closes {@code next}. */
  synchronized void become(Role next) {
    if (isEnded) {
      next.close();
      return;
    }
    Role former = role;
    role = next;
    former.close();
    next.begin();
    notifyAll();
  }

  /** Ends the last role: none begins after it. */
  synchronized void end() {
    isEnded = true;
    role.close();
  }

  /** Whether this controller leads within {@code timeout}. */
  synchronized boolean awaitTerm(Duration timeout) throws InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    while (role.term().isEmpty()) {
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (left <= 0) {
        return false;
      }
      wait(left);
    }
    return true;
  }
}
