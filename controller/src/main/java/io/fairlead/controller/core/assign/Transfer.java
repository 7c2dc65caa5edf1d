// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import java.util.Arrays;

/**
 * Moves buckets between backends until each owns as many as its goal, greedily as in Beamer (NSDI
 * '18, §4.5): always from the most overloaded backend to the most underloaded one (load: buckets /
 * weight), as many as keep both within their goals.
 *
 * <p>Of an owner's buckets, those without former owners that count move first, by number. Then
 * those that have some, the ones that moved first before the others. Last, or never, come full ones
 * ({@link FormerOwners}), which would lose an owner: backends that join one by one would otherwise
 * all take the same buckets, those with the lowest numbers. Buckets without an owner count as those
 * of an infinitely loaded backend.
 *
 * <p>The paper moves the oldest first, also among those with a closed window. Age means nothing for
 * a closed window, and ages are scattered among an owner's buckets. By number, ranges stay whole,
 * and what an owner gives to another is one run (by owner) of the delta instead of dozens. Where
 * 32,000 of 65,535 backends return to a ring with a history, that is 65 K runs instead of 1.7 Mi.
 *
 * <p>O(B + N log N) for B buckets and N backends, with primitive arrays for everything that exists
 * per bucket; only the buckets of backends that give some are sorted.
 */
final class Transfer {
  /** Sorts by full, moved, second of the last move, number: 1 + 1 + 32 + 23. */
  private static final int BUCKET_BITS = 23;

  private static final long MOVED = 1L << (BUCKET_BITS + 32);
  private static final long FULL = MOVED << 1;

  private final Ring ring;
  private final int[] have;
  private final int[] weights;
  private final int[] goals;

  /** Buckets that may be given, grouped by owner; those of an id are from its start to its end. */
  private final long[] giving;

  private final int[] starts;
  private final int[] ends;

  /**
   * @param owned buckets of each backend in {@code ring}
   * @param goals how many each is to own at the end; not reached if others have none to give or
   *     cannot take more
   * @param fullToo whether full buckets may move
   */
  Transfer(
      Ring ring, int[] owned, int[] weights, int[] goals, boolean fullToo, FormerOwners formers) {
    this.ring = ring;
    this.have = owned.clone();
    this.weights = weights;
    this.goals = goals;
    starts = new int[owned.length];
    ends = new int[owned.length];
    giving = new long[group()];
    boolean[] gives = new boolean[owned.length];
    for (int id = 0; id < owned.length; id++) {
      gives[id] = have[id] > goals[id];
    }
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      int owner = ring.current(bucket);
      if (gives[owner] && (fullToo || !formers.isFull(ring, bucket))) {
        giving[ends[owner]++] = formers.isMoved(ring, bucket) ? moved(bucket, formers) : bucket;
      }
    }
    for (int id = 0; id < owned.length; id++) {
      if (gives[id]) {
        Arrays.sort(giving, starts[id], ends[id]);
      }
    }
  }

  private long moved(int bucket, FormerOwners formers) {
    long full = formers.isFull(ring, bucket) ? FULL : 0;
    return full | MOVED | ring.since(bucket) << BUCKET_BITS | bucket;
  }

  private int group() {
    int total = 0;
    for (int id = 0; id < have.length; id++) {
      starts[id] = total;
      ends[id] = total;
      total += have[id] > goals[id] ? have[id] : 0;
    }
    return total;
  }

  /** The owners of all buckets afterwards. */
  char[] owners() {
    char[] next = Runs.EMPTY.owners(ring);
    BackendHeap givers = new BackendHeap((a, b) -> isBefore(compareLoad(b, a), a, b));
    BackendHeap takers = new BackendHeap((a, b) -> isBefore(compareLoad(a, b), a, b));
    for (int id = 0; id < have.length; id++) {
      if (left(id) > 0) {
        givers.add(id);
      } else if (have[id] < goals[id]) {
        takers.add(id);
      }
    }
    while (!givers.isEmpty() && !takers.isEmpty()) {
      int from = givers.top();
      int to = takers.top();
      int n = Math.min(left(from), goals[to] - have[to]);
      for (int end = starts[from] + n; starts[from] < end; starts[from]++) {
        next[bucket(giving[starts[from]])] = (char) to;
      }
      have[from] -= n;
      have[to] += n;
      if (left(from) > 0) {
        givers.moveTop();
      } else {
        givers.removeTop();
      }
      if (have[to] < goals[to]) {
        takers.moveTop();
      } else {
        takers.removeTop();
      }
    }
    return next;
  }

  private static boolean isBefore(int compared, int id, int other) {
    return compared < 0 || (compared == 0 && id < other);
  }

  private static int bucket(long entry) {
    return (int) entry & ((1 << BUCKET_BITS) - 1);
  }

  /** The number of buckets that a backend has to give and may give. */
  private int left(int id) {
    return Math.min(have[id] - goals[id], ends[id] - starts[id]);
  }

  /** Compares buckets / weight without dividing; weight 0 is infinitely loaded. */
  private int compareLoad(int a, int b) {
    if (weight(a) == 0 || weight(b) == 0) {
      return Boolean.compare(weight(a) == 0, weight(b) == 0);
    }
    return Long.compare((long) have[a] * weight(b), (long) have[b] * weight(a));
  }

  private int weight(int id) {
    return id == Backend.NONE ? 0 : weights[id];
  }
}
