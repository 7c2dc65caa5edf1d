// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.upkeep;

import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.concurrent.CompletionStage;

/** Starts and stops a service's rebalance or defragmentation. */
public interface Upkeeps {
  /**
   * Runs the first iteration, whose result this is; the leader runs the others, one per window
   * (Beamer, NSDI '18, §4.5 and A.1).
   */
  CompletionStage<Result> startUpkeep(String service, UpkeepOrder order, WriteOptions options);

  /** Stops where it is; the result's {@code changed} says whether one was running. */
  CompletionStage<Result> stopUpkeep(String service, WriteOptions options);
}
