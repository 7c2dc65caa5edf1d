// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.function.LongSupplier;

/**
 * Limits the lines that callers can make a log grow by: so many in each period, the others are
 * counted. Thread-safe.
 */
public final class LogLimit {
  static final int LINES = 10;
  static final Duration PERIOD = Duration.ofMinutes(1);

  private final int most;
  private final Duration period;
  private final LongSupplier nanos;

  @GuardedBy("this")
  private long start;

  @GuardedBy("this")
  private int lines;

  @GuardedBy("this")
  private long suppressed;

  /**
   * @param nanos a monotonic clock, as {@link System#nanoTime}
   */
  LogLimit(LongSupplier nanos) {
    this(LINES, PERIOD, nanos);
  }

  /**
   * @param most lines in each {@code period}
   * @param nanos a monotonic clock, as {@link System#nanoTime}
   */
  public LogLimit(int most, Duration period, LongSupplier nanos) {
    this.most = most;
    this.period = period;
    this.nanos = nanos;
    this.start = nanos.getAsLong();
  }

  /**
   * Whether to write a line now: if so, how many were suppressed since the line before; else empty.
   */
  public synchronized OptionalLong take() {
    long now = nanos.getAsLong();
    if (now - start >= period.toNanos()) {
      start = now;
      lines = 0;
    }
    if (lines == most) {
      suppressed++;
      return OptionalLong.empty();
    }
    lines++;
    long since = suppressed;
    suppressed = 0;
    return OptionalLong.of(since);
  }
}
