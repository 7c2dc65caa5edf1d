// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** A clock that moves only when it is set. */
final class SettableClock extends Clock {
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
  public ZoneId getZone() {
    return ZoneOffset.UTC;
  }

  @Override
  public Clock withZone(ZoneId zone) {
    throw new UnsupportedOperationException("only seconds are asked for");
  }

  @Override
  public Instant instant() {
    return Instant.ofEpochSecond(seconds);
  }
}
