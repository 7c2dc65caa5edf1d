// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.backends.Change;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.service.ControlPlane;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Answers a change with its plan, and commits it a moment later. */
final class EarlyAck {
  private static final long LATER_MILLIS = 400;

  private final ControlPlane real;
  private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor();

  private EarlyAck(ControlPlane real) {
    this.real = real;
  }

  static ControlPlane of(ControlPlane real) {
    EarlyAck early = new EarlyAck(real);
    return Proxied.by(
        ControlPlane.class,
        (self, method, arguments) ->
            method.getName().equals("change") && arguments[2] instanceof WriteOptions
                ? early.change(arguments)
                : Proxied.call(real, method, arguments));
  }

  @SuppressWarnings("unchecked")
  private CompletionStage<Result> change(Object[] arguments) {
    String service = (String) arguments[0];
    List<Change> changes = (List<Change>) arguments[1];
    WriteOptions options = (WriteOptions) arguments[2];
    if (options.dryRun()) {
      return real.change(service, changes, options);
    }
    WriteOptions plan = new WriteOptions(true, options.origin(), options.precondition());
    return real.change(service, changes, plan)
        .thenApply(
            result -> {
              later.schedule(
                  () -> real.change(service, changes, options),
                  LATER_MILLIS,
                  TimeUnit.MILLISECONDS);
              return new Result(
                  result.service(),
                  result.generation(),
                  false,
                  result.changed(),
                  result.movedBuckets(),
                  result.stillChained(),
                  result.returnedBuckets(),
                  result.moves(),
                  result.shares());
            });
  }
}
