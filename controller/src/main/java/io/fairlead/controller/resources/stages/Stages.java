// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.concurrent.CompletionStage;

/** Ends the steps of a staged change by hand. */
public interface Stages {
  /** Takes the next step at once, or ends the change after the last. */
  CompletionStage<Result> advance(String service, WriteOptions options);

  /** Brings the former weights back; backends that were not in service are drained. */
  CompletionStage<Result> rollBack(String service, WriteOptions options);
}
