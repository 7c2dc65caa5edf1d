// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.resources.backends.Backends;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Answers a change with its plan, and commits it a moment later. */
final class EarlyAck implements Backends {
  private static final long LATER_MILLIS = 400;

  private final Backends real;
  private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor();

  EarlyAck(Backends real) {
    this.real = real;
  }

  @Override
  public CompletionStage<Result> change(
      String service, List<Change> changes, WriteOptions options) {
    if (options.dryRun()) {
      return real.change(service, changes, options);
    }
    WriteOptions plan = options.with(true);
    return real.change(service, changes, plan)
        .thenApply(
            result -> {
              later.schedule(
                  () -> real.change(service, changes, options),
                  LATER_MILLIS,
                  TimeUnit.MILLISECONDS);
              return result.withDryRun(false);
            });
  }
}
