// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.store.DaemonThreads;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;

/** The threads that outlive a term; the package's description says what each of them owns. */
final class Threads implements AutoCloseable {
  private static final int WRITERS = 32;
  private static final int OTHELLO = 2;

  /** Changes of the largest services that are planned and written at a time. */
  private static final int LARGEST_PLANNED = 4;

  final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("clock"));
  final ExecutorService catalogue =
      Executors.newSingleThreadExecutor(DaemonThreads.named("catalogue"));

  /** One at a time: encoding the largest ring takes a hundred MB. */
  final ExecutorService snapshots =
      Executors.newSingleThreadExecutor(DaemonThreads.named("snapshot"));

  final ExecutorService othello =
      Executors.newFixedThreadPool(OTHELLO, DaemonThreads.named("othello"));

  /** Most of them wait for the store, so that it commits what they have written together. */
  private final ExecutorService writers =
      Executors.newFixedThreadPool(WRITERS, DaemonThreads.named("writer"));

  /** By buckets: to plan a change takes memory by their number. */
  private final Semaphore planned = new Semaphore(LARGEST_PLANNED * Ring.BUCKETS_MAX, true);

  /** Runs the events of services with so many buckets. */
  Executor writers(int buckets) {
    return event ->
        writers.execute(
            () -> {
              planned.acquireUninterruptibly(buckets);
              try {
                event.run();
              } finally {
                planned.release(buckets);
              }
            });
  }

  @Override
  public void close() {
    DaemonThreads.stop(clock);
    DaemonThreads.stop(catalogue);
    DaemonThreads.stop(snapshots);
    DaemonThreads.stop(othello);
    DaemonThreads.stop(writers);
  }
}
