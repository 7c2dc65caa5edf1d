// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.store.DaemonThreads;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** The threads that outlive a term; the package's description says what each of them owns. */
final class Threads implements AutoCloseable {
  private static final int WRITERS = 4;
  private static final int OTHELLO = 2;

  final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("clock"));
  final ExecutorService catalogue =
      Executors.newSingleThreadExecutor(DaemonThreads.named("catalogue"));

  /** One at a time: encoding the largest ring takes a hundred MB. */
  final ExecutorService snapshots =
      Executors.newSingleThreadExecutor(DaemonThreads.named("snapshot"));

  final ExecutorService othello =
      Executors.newFixedThreadPool(OTHELLO, DaemonThreads.named("othello"));
  final ExecutorService writers =
      Executors.newFixedThreadPool(WRITERS, DaemonThreads.named("writer"));

  @Override
  public void close() {
    DaemonThreads.stop(clock);
    DaemonThreads.stop(catalogue);
    DaemonThreads.stop(snapshots);
    DaemonThreads.stop(othello);
    DaemonThreads.stop(writers);
  }
}
