// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PeriodicTest {
  private static void fail(int time) {
    if (time % 2 == 0) {
      throw new IllegalStateException("every other time");
    }
    throw new StackOverflowError("and this between them");
  }

  @Test
  void aFailureEndsNothing() throws InterruptedException {
    ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
    CountDownLatch times = new CountDownLatch(4);
    try {
      Periodic.start(
          thread,
          1,
          () -> {
            times.countDown();
            fail((int) times.getCount());
          });
      assertThat(times.await(60, TimeUnit.SECONDS)).isTrue();
    } finally {
      thread.shutdownNow();
    }
  }
}
