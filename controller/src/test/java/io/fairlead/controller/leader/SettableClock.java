// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import java.time.Instant;
import java.time.InstantSource;

/** A clock that moves only when it is set. */
final class SettableClock implements InstantSource {
  private volatile long seconds;
  private volatile Runnable whenRead = () -> {};
  private volatile Runnable whenSecondsRead = () -> {};

  SettableClock(long seconds) {
    this.seconds = seconds;
  }

  void set(long newSeconds) {
    seconds = newSeconds;
  }

  long seconds() {
    whenSecondsRead.run();
    return seconds;
  }

  /** Runs on the thread that reads it. */
  void whenRead(Runnable next) {
    whenRead = next;
  }

  /** As above, for a monotonic clock. */
  void whenSecondsRead(Runnable next) {
    whenSecondsRead = next;
  }

  @Override
  public Instant instant() {
    whenRead.run();
    return Instant.ofEpochSecond(seconds);
  }
}
