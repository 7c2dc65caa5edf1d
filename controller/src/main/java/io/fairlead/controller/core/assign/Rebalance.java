// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;

/**
 * Beamer's load balancing (NSDI '18, §4.5) a few buckets at a time: from the most overloaded
 * backend to the most underloaded one, until no backend's load (buckets / weight) exceeds the
 * average by more than the target allows. A backend gives only what exceeds that. A full bucket
 * stays.
 */
public final class Rebalance implements Upkeep {
  @Override
  public Step step(Ring ring, int[] weights, Limits limits, FormerOwners formers) {
    int[] owned = ring.owned();
    int[] shares = BeamerAssignment.targets(owned, weights, ring.buckets());
    int[] most = most(ring.buckets(), weights, shares, limits.target());
    int[] goals = new int[owned.length];
    for (int id = 0; id < owned.length; id++) {
      goals[id] =
          owned[id] > shares[id]
              ? Math.min(owned[id], Math.max(most[id], owned[id] - limits.moves()))
              : Math.min(shares[id], owned[id] + limits.moves());
    }
    char[] next = new Transfer(ring, owned, weights, goals, false, formers).owners();
    for (int bucket = 0; bucket < next.length; bucket++) {
      boolean isLost = formers.overflows(ring, bucket, next[bucket]);
      next[bucket] = isLost ? (char) ring.current(bucket) : next[bucket];
    }
    Runs runs = Runs.between(ring, next);
    int left = 0;
    for (int bucket = 0; bucket < next.length; bucket++) {
      owned[ring.current(bucket)]--;
      owned[next[bucket]]++;
    }
    for (int id = 0; id < owned.length; id++) {
      left += Math.max(0, owned[id] - most[id]);
    }
    return new Step(runs, left == 0, left);
  }

  /**
   * How many buckets each backend may own at the end: its share times the target, but at least its
   * share.
   */
  private static int[] most(int buckets, int[] weights, int[] shares, double target) {
    int[] most = shares.clone();
    double unit = buckets * target / Math.max(1, Placement.total(weights));
    for (int id = Backend.NONE + 1; id < most.length; id++) {
      most[id] = Math.max(shares[id], (int) Math.min(buckets, unit * weights[id]));
    }
    return most;
  }

  /**
   * The highest load over the average load: 1 is even, 2 is twice as many buckets as the weight
   * calls for. Also 1 if no backend has a weight; buckets of backends of weight 0 do not count.
   */
  public static double imbalance(Ring ring, int[] weights) {
    long total = Placement.total(weights);
    int[] owned = ring.owned();
    double highest = 0;
    for (int id = Backend.NONE + 1; id < weights.length; id++) {
      if (weights[id] > 0) {
        highest = Math.max(highest, (double) owned[id] * total / weights[id] / ring.buckets());
      }
    }
    return total == 0 ? 1 : highest;
  }
}
