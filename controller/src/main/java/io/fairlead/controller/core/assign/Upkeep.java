// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;

/**
 * A change of a ring that is spread over many iterations, one per window, so that each backend has
 * only a few buckets chained at a time (Beamer, NSDI '18, §4.5 and appendix A.1).
 */
public interface Upkeep {
  /**
   * How far and how fast.
   *
   * @param target at which to stop, at least 1: for {@link Rebalance} the highest load over the
   *     average, for {@link Defragmentation} rules per backend
   * @param moves the paper's bmax: most buckets that one backend gives in an iteration, and most
   *     that it takes
   */
  record Limits(double target, int moves) {
    public Limits {
      if (!(target >= 1) || moves < 1) {
        throw new IllegalArgumentException("target %s, %d moves".formatted(target, moves));
      }
    }
  }

  /**
   * One iteration.
   *
   * @param runs what moves, no full bucket; empty if all that could move are full
   * @param reached whether the ring is at the target once these have moved
   * @param left upper bound of the buckets that will still have to move afterwards
   */
  record Step(Runs runs, boolean reached, int left) {}

  /**
   * The next iteration.
   *
   * @param weights by backend id, 65,536 of them
   */
  Step step(Ring ring, int[] weights, Limits limits, FormerOwners formers);
}
