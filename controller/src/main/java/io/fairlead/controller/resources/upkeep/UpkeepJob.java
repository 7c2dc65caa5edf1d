// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.upkeep;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState;
import java.util.Optional;

/** The latest rebalance or defragmentation. */
public record UpkeepJob(@JsonUnwrapped Ordered ordered, @JsonUnwrapped Progress progress) {
  /** As in the {@link UpkeepOrder}. */
  public record Ordered(String kind, double target, int maxMoves) {}

  /**
   * Times are Unix seconds.
   *
   * @param state "running", "reached" or "stopped"
   * @param leftBuckets have yet to move, at most
   * @param next before which no iteration runs
   */
  public record Progress(
      String state,
      int iterations,
      long movedBuckets,
      int leftBuckets,
      long started,
      long last,
      Optional<Long> next) {}

  static UpkeepJob of(ServiceImage image, UpkeepState state) {
    return new UpkeepJob(
        new Ordered(state.kind().toString(), state.target(), state.maxMoves()),
        new Progress(
            state.phase().toString(),
            state.iterations(),
            state.movedBuckets(),
            state.leftBuckets(),
            state.started(),
            state.last(),
            state.isRunning() ? Optional.of(due(image, state)) : Optional.empty()));
  }

  /** Unix seconds from which the next iteration may run. */
  public static long due(ServiceImage image, UpkeepState state) {
    return state.last() + image.config().windowSeconds();
  }
}
