// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.assign;

import io.fairlead.controller.image.Backend;
import io.fairlead.controller.image.Ring;
import io.fairlead.controller.image.Runs;
import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * The greedy assignment of Beamer (Olteanu et al., NSDI '18, §4.5): buckets go from the most
 * overloaded backend to the most underloaded one (load: buckets / weight), as many as let neither
 * overshoot the average, the oldest first.
 *
 * <p>Here the average is turned into a whole number of buckets per backend before anything moves:
 * its ideal share B x w / W rounded down or up, so that everyone ends within one bucket of it.
 * Overloaded backends round up and underloaded ones round down, which is the paper's rule; where
 * these do not add up to B, the fewest possible round the other way: up where the rest is largest,
 * down where it is smallest. So no more buckets move than balance needs.
 *
 * <p>Which of an owner's buckets: first those whose daisy-chain window is closed, then by the
 * second of their last move, then by number, so that ranges stay whole. Buckets inside the window
 * move only if their owner has nothing else left to give. Buckets without an owner count as an
 * infinitely loaded backend's. With no weight anywhere all buckets go to 0, "no backend".
 *
 * <p>O(B + N log N) for B buckets and N backends, and primitive arrays for whatever there is one of
 * per bucket; only the buckets of backends that give some are sorted.
 */
public final class BeamerAssignment implements Assignment {
  /** Sorts by in-window, second of the last move, number: 1 + 32 + 23 bits. */
  private static final int BUCKET_BITS = 23;

  private static final long IN_WINDOW = 1L << (BUCKET_BITS + 32);

  @Override
  public Runs assign(Ring ring, int[] weights, long now, int windowSeconds) {
    int[] owned = ring.owned();
    int[] targets = targets(owned, weights, ring.buckets());
    int[] ends = new int[owned.length];
    long[] giving = giversBuckets(ring, owned, targets, now, windowSeconds, ends);
    char[] next = owners(ring);
    transfer(owned, weights, targets, giving, ends, next);
    return Runs.between(ring, next, now, windowSeconds);
  }

  /** How many buckets each backend shall own; index 0 gets what nobody may have. */
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
      long share = (long) buckets * weights[id];
      int floor = (int) (share / totalWeight);
      targets[id] = owned[id] > floor && share % totalWeight != 0 ? floor + 1 : floor;
      surplus += targets[id];
    }
    if (surplus != 0) {
      round(owned, weights, buckets, totalWeight, surplus, targets);
    }
    return targets;
  }

  /** Lets |surplus| backends round the other way, so that the targets add up. */
  private static void round(
      int[] owned, int[] weights, int buckets, long totalWeight, int surplus, int[] targets) {
    long[] candidates = new long[weights.length];
    int n = 0;
    for (int id = 1; id < weights.length; id++) {
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

  /**
   * The buckets of all that own more than they shall, grouped by owner and in the order in which
   * they are given away. {@code ends[id]} becomes the end of the group of id.
   */
  private static long[] giversBuckets(
      Ring ring, int[] owned, int[] targets, long now, int windowSeconds, int[] ends) {
    int total = 0;
    for (int id = 0; id < owned.length; id++) {
      ends[id] = total;
      total += owned[id] > targets[id] ? owned[id] : 0;
    }
    long[] keys = new long[total];
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      int owner = ring.current(bucket);
      if (owned[owner] > targets[owner]) {
        long age = ring.since(bucket) << BUCKET_BITS | bucket;
        keys[ends[owner]++] = ring.isMoved(bucket, now, windowSeconds) ? IN_WINDOW | age : age;
      }
    }
    for (int id = 0; id < owned.length; id++) {
      if (owned[id] > targets[id]) {
        Arrays.sort(keys, ends[id] - owned[id], ends[id]);
      }
    }
    return keys;
  }

  private static void transfer(
      int[] owned, int[] weights, int[] targets, long[] giving, int[] ends, char[] next) {
    int[] have = owned.clone();
    Comparator<Integer> byLoad = (a, b) -> compareLoad(have, weights, a, b);
    PriorityQueue<Integer> givers =
        new PriorityQueue<>(byLoad.reversed().thenComparing(Comparator.naturalOrder()));
    PriorityQueue<Integer> takers =
        new PriorityQueue<>(byLoad.thenComparing(Comparator.naturalOrder()));
    for (int id = 0; id < owned.length; id++) {
      if (owned[id] > targets[id]) {
        givers.add(id);
      } else if (owned[id] < targets[id]) {
        takers.add(id);
      }
    }
    while (!givers.isEmpty()) {
      int from = givers.remove();
      int to = takers.remove();
      int n = Math.min(have[from] - targets[from], targets[to] - have[to]);
      int given = ends[from] - have[from];
      for (int i = given; i < given + n; i++) {
        next[(int) giving[i] & ((1 << BUCKET_BITS) - 1)] = (char) to;
      }
      have[from] -= n;
      have[to] += n;
      if (have[from] > targets[from]) {
        givers.add(from);
      }
      if (have[to] < targets[to]) {
        takers.add(to);
      }
    }
  }

  /** Compares buckets / weight without dividing; weight 0 is infinitely loaded. */
  private static int compareLoad(int[] have, int[] weights, int a, int b) {
    if (weights[a] == 0 || weights[b] == 0) {
      return Boolean.compare(weights[a] == 0, weights[b] == 0);
    }
    return Long.compare((long) have[a] * weights[b], (long) have[b] * weights[a]);
  }

  private static char[] owners(Ring ring) {
    char[] owners = new char[ring.buckets()];
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = (char) ring.current(bucket);
    }
    return owners;
  }
}
