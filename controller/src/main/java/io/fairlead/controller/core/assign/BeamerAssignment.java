// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import java.util.Arrays;

/**
 * The greedy assignment of Beamer (Olteanu et al., NSDI '18, §4.5): buckets move from the most
 * overloaded backend to the most underloaded one (load: buckets / weight), as many as leave neither
 * beyond the average.
 *
 * <p>Here the average becomes a whole number of buckets per backend before anything moves: its
 * ideal share B x w / W rounded down or up, so that every backend ends within one bucket of it.
 * Overloaded backends round up and underloaded ones round down, which is the paper's rule. Where
 * these do not add up to B, the fewest possible are rounded the other way: up where the remainder
 * is largest, down where it is smallest. So no more buckets move than balance needs.
 *
 * <p>{@link Transfer} decides which buckets move and where, full ones last. If no backend has a
 * weight, all buckets go to 0, "no backend".
 */
public final class BeamerAssignment implements Assignment {
  @Override
  public Runs assign(Ring ring, int[] all, FormerOwners formers) {
    int[] weights = ofUsed(all, ring.ids());
    int[] owned = ring.owned(weights.length);
    int[] targets = targets(owned, weights, ring.buckets());
    Ring home = takenHome(ring, owned, targets, formers);
    Transfer transfer = new Transfer(home, owned, weights, targets, true, formers);
    return Runs.between(ring, transfer.owners());
  }

  /** Without the ids from {@code least} on that are above all weights. */
  private static int[] ofUsed(int[] weights, int least) {
    int ids = weights.length;
    while (ids > least && weights[ids - 1] == 0) {
      ids--;
    }
    return Arrays.copyOf(weights, ids);
  }

  /**
   * Buckets without an owner go back to the last one as long as it counts, as far as its share has
   * room: then fewer packets name former owners. {@code owned} is counted on.
   */
  private static Ring takenHome(Ring ring, int[] owned, int[] targets, FormerOwners formers) {
    if (owned[Backend.NONE] == 0) {
      return ring;
    }
    char[] owners = Runs.EMPTY.owners(ring);
    for (int bucket = 0; bucket < owners.length; bucket++) {
      int previous = ring.previous(bucket);
      if (owners[bucket] == Backend.NONE
          && formers.isMoved(ring, bucket)
          && owned[previous] < targets[previous]) {
        owners[bucket] = (char) previous;
        owned[previous]++;
        owned[Backend.NONE]--;
      }
    }
    return ring.withOwners(owners);
  }

  /** How many buckets each backend is to own; index 0 gets those that no backend may have. */
  static int[] targets(int[] owned, int[] weights, int buckets) {
    int[] targets = new int[owned.length];
    long totalWeight = 0;
    for (int id = 1; id < weights.length; id++) {
      totalWeight += weights[id];
    }
    if (totalWeight == 0) {
      targets[Backend.NONE] = buckets;
      return targets;
    }
    int surplus = -buckets;
    for (int id = 1; id < weights.length; id++) {
      if (weights[id] == 0) {
        continue; // most of 65,536 ids: their share is none
      }
      long share = (long) buckets * weights[id];
      int floor = (int) (share / totalWeight);
      targets[id] = owned[id] > floor && share % totalWeight != 0 ? floor + 1 : floor;
      surplus += targets[id];
    }
    if (surplus != 0) {
      round(weights, buckets, totalWeight, surplus, targets);
    }
    return targets;
  }

  /** Rounds the goals of |surplus| backends the other way, so that they add up. */
  private static void round(
      int[] weights, int buckets, long totalWeight, int surplus, int[] targets) {
    long[] candidates = new long[weights.length];
    int n = 0;
    for (int id = 1; id < weights.length; id++) {
      if (weights[id] == 0) {
        continue;
      }
      long share = (long) buckets * weights[id];
      long rest = share % totalWeight;
      boolean isUp = targets[id] > share / totalWeight;
      if (rest != 0 && isUp == surplus > 0) {
        long order = surplus > 0 ? rest : totalWeight - rest;
        candidates[n++] = order << 16 | id;
      }
    }
    Arrays.sort(candidates, 0, n);
    for (int i = 0; i < Math.abs(surplus); i++) {
      targets[(int) candidates[i] & 0xffff] -= Integer.signum(surplus);
    }
  }
}
