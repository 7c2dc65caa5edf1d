// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Work that is done again and again, for as long as its thread runs. */
final class Periodic {
  private static final Logger LOG = LoggerFactory.getLogger(Periodic.class);

  private Periodic() {}

  /**
   * At once, and {@code millis} after each time. A failure is logged: an executor would never call
   * it again.
   */
  static void start(ScheduledExecutorService thread, long millis, Runnable step) {
    thread.scheduleWithFixedDelay(
        () -> {
          try {
            step.run();
          } catch (RuntimeException | Error e) {
            LOG.error("work of {} failed", Thread.currentThread().getName(), e);
          }
        },
        0,
        millis,
        TimeUnit.MILLISECONDS);
  }
}
