// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import java.time.Instant;
import java.time.InstantSource;

/** A clock that moves only when it is set. */
final class SettableClock implements InstantSource {
  private volatile long seconds;

  SettableClock(long seconds) {
    this.seconds = seconds;
  }

  void set(long newSeconds) {
    seconds = newSeconds;
  }

  long seconds() {
    return seconds;
  }

  @Override
  public Instant instant() {
    return Instant.ofEpochSecond(seconds);
  }
}
