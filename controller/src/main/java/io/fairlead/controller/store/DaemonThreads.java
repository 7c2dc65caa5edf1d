// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** Threads that do not keep the process alive, with names that identify them in thread dumps. */
public final class DaemonThreads {
  private static final long STOP_SECONDS = 15;

  private DaemonThreads() {}

  public static ThreadFactory named(String work) {
    return new ThreadFactoryBuilder().setDaemon(true).setNameFormat(work + "-%d").build();
  }

  /** Waits for what runs, then interrupts it. */
  public static void stop(ExecutorService executor) {
    executor.shutdown();
    try {
      if (!executor.awaitTermination(STOP_SECONDS, TimeUnit.SECONDS)) {
        executor.shutdownNow();
      }
    } catch (InterruptedException e) {
      executor.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
