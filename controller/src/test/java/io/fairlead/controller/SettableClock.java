// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import java.time.Instant;
import java.time.InstantSource;

/** A clock that moves only when it is set. */
public final class SettableClock implements InstantSource {
  private volatile long seconds;
  private volatile Runnable whenRead = () -> {};
  private volatile Runnable whenSecondsRead = () -> {};

  public SettableClock(long seconds) {
    this.seconds = seconds;
  }

  public void set(long newSeconds) {
    seconds = newSeconds;
  }

  public long seconds() {
    whenSecondsRead.run();
    return seconds;
  }

  /** Runs on the thread that reads it. */
  public void whenRead(Runnable next) {
    whenRead = next;
  }

  /** As above, for a monotonic clock. */
  public void whenSecondsRead(Runnable next) {
    whenSecondsRead = next;
  }

  @Override
  public Instant instant() {
    whenRead.run();
    return Instant.ofEpochSecond(seconds);
  }
}
