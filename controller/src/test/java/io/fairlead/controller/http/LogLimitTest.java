// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LogLimitTest {
  /** Near the end of the clock's range, past which it continues from the other end. */
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 7);

  private final LogLimit limit = new LogLimit(nanos::get);

  @Test
  void theRestOfAMinuteIsCountedAndReportedWithTheNextLine() {
    for (int line = 0; line < LogLimit.LINES; line++) {
      assertThat(limit.take()).hasValue(0);
    }
    for (int more = 0; more < 1000; more++) {
      assertThat(limit.take()).isEmpty();
    }
    nanos.addAndGet(LogLimit.PERIOD.toNanos() - 1);
    assertThat(limit.take()).isEmpty();
    nanos.incrementAndGet();
    assertThat(limit.take()).hasValue(1001);
    assertThat(limit.take()).hasValue(0);
  }
}
