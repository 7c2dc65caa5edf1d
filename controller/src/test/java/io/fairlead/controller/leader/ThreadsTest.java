// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.core.ring.Ring;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How many events of services run at a time. */
class ThreadsTest {
  @ParameterizedTest
  @CsvSource({Ring.BUCKETS_MIN + ", 32", Ring.BUCKETS_MAX / 2 + ", 8", Ring.BUCKETS_MAX + ", 4"})
  void eventsOfLargeServicesTakeTurns(int buckets, int atOnce) throws Exception {
    AtomicInteger running = new AtomicInteger();
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(40);
    try (Threads threads = new Threads()) {
      Executor writers = threads.writers(buckets);
      for (int i = 0; i < 40; i++) {
        writers.execute(
            () -> {
              running.incrementAndGet();
              awaitQuietly(end);
              ended.countDown();
            });
      }
      await().atMost(Duration.ofSeconds(10)).until(() -> running.get() == atOnce);
      await().during(Duration.ofMillis(100)).until(() -> running.get() == atOnce);
      end.countDown();
      ended.await();
    }
    assertThat(running.get()).isEqualTo(40);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
