// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.assign;

import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Chains;
import io.fairlead.controller.ring.Ring;
import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * Moves buckets between backends until each owns as many as its goal, greedily as in Beamer (NSDI
 * '18, §4.5): always from the most overloaded backend to the most underloaded one (load: buckets /
 * weight), as many as keep both within their goals.
 *
 * <p>Of an owner's buckets, those whose daisy-chain window is closed move first, by number. Buckets
 * inside the window move only if their owner has nothing else left to give, or never; those that
 * moved first go before the others, and last those of which another move would lose an owner, since
 * servers follow three ({@link Chains}): backends that join one by one would otherwise all take the
 * same buckets, those with the lowest numbers. Buckets without an owner count as those of an
 * infinitely loaded backend.
 *
 * <p>The paper moves the oldest first, also among those with a closed window. Age means nothing for
 * a closed window, and ages are scattered among an owner's buckets. By number, ranges stay whole,
 * and what an owner gives to another is one run (by owner) of the delta instead of dozens. Where
 * 32,000 of 65,535 backends return to a ring with a history, that is 65 K runs instead of 1.7 Mi.
 *
 * <p>A bucket inside its window does not return to its previous owner ({@link Ring#isReturn}). When
 * it is the turn of that taker and the giver has nothing else, such buckets are held: they stay,
 * and count as given, so that everything else proceeds as if they had moved.
 *
 * <p>O(B + N log N) for B buckets and N backends, with primitive arrays for everything that exists
 * per bucket; only the buckets of backends that give some are sorted.
 */
final class Transfer {
  /** Sorts by would lose an owner, in-window, second of the last move, number: 1 + 1 + 32 + 23. */
  private static final int BUCKET_BITS = 23;

  private static final long IN_WINDOW = 1L << (BUCKET_BITS + 32);
  private static final long LOSING = IN_WINDOW << 1;

  private final Ring ring;
  private final int[] have;
  private final int[] weights;
  private final int[] goals;

  /** Buckets that may be given, grouped by owner; those of an id are from its start to its end. */
  private final long[] giving;

  private final int[] starts;
  private final int[] ends;

  private final long now;
  private final int windowSeconds;
  private int[] held = new int[16];
  private int heldSize;

  /**
   * @param owned buckets of each backend in {@code ring}
   * @param goals how many each is to own at the end; not reached if others have none to give or
   *     cannot take more
   * @param chainedToo whether buckets inside their window may move
   */
  Transfer(
      Ring ring,
      int[] owned,
      int[] weights,
      int[] goals,
      boolean chainedToo,
      long now,
      int windowSeconds) {
    this.ring = ring;
    this.have = owned.clone();
    this.weights = weights;
    this.goals = goals;
    this.now = now;
    this.windowSeconds = windowSeconds;
    starts = new int[owned.length];
    ends = new int[owned.length];
    giving = new long[group()];
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      int owner = ring.current(bucket);
      boolean isMoved = have[owner] > goals[owner] && ring.isMoved(bucket, now, windowSeconds);
      if (have[owner] > goals[owner] && (chainedToo || !isMoved)) {
        giving[ends[owner]++] =
            isMoved
                ? IN_WINDOW | losing(bucket) | ring.since(bucket) << BUCKET_BITS | bucket
                : bucket;
      }
    }
    for (int id = 0; id < owned.length; id++) {
      Arrays.sort(giving, starts[id], ends[id]);
    }
  }

  /** Of a bucket inside its window: {@link #LOSING} if it has as many moves as servers follow. */
  private long losing(int bucket) {
    return ring.history(bucket).open(now, windowSeconds) >= Chains.HOPS ? LOSING : 0;
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
    char[] next = new char[ring.buckets()];
    for (int bucket = 0; bucket < next.length; bucket++) {
      next[bucket] = (char) ring.current(bucket);
    }
    Comparator<Integer> byLoad = (a, b) -> compareLoad(a, b);
    PriorityQueue<Integer> givers =
        new PriorityQueue<>(byLoad.reversed().thenComparing(Comparator.naturalOrder()));
    PriorityQueue<Integer> takers =
        new PriorityQueue<>(byLoad.thenComparing(Comparator.naturalOrder()));
    for (int id = 0; id < have.length; id++) {
      if (left(id) > 0) {
        givers.add(id);
      } else if (have[id] < goals[id]) {
        takers.add(id);
      }
    }
    while (!givers.isEmpty() && !takers.isEmpty()) {
      int from = givers.remove();
      int to = takers.remove();
      int n = Math.min(left(from), goals[to] - have[to]);
      give(from, to, n, next);
      have[from] -= n;
      have[to] += n;
      if (left(from) > 0) {
        givers.add(from);
      }
      if (have[to] < goals[to]) {
        takers.add(to);
      }
    }
    return next;
  }

  /**
   * Gives the first {@code n} buckets that may move to {@code to}; if there are fewer, holds as
   * many of the others. A bucket is skipped at most once, for the one taker that it came from.
   */
  private void give(int from, int to, int n, char[] next) {
    int start = starts[from];
    int given = 0;
    int passed = 0;
    int at = start;
    for (; given < n && at < ends[from]; at++) {
      int bucket = bucket(giving[at]);
      if (giving[at] >= IN_WINDOW && ring.isReturn(bucket, to, now, windowSeconds)) {
        giving[start + passed++] = giving[at];
      } else {
        next[bucket] = (char) to;
        given++;
      }
    }
    int holding = n - given;
    for (int i = start; i < start + holding; i++) {
      hold(bucket(giving[i]));
    }
    starts[from] = at - (passed - holding);
    System.arraycopy(giving, start + holding, giving, starts[from], passed - holding);
  }

  private void hold(int bucket) {
    if (heldSize == held.length) {
      held = Arrays.copyOf(held, heldSize + (heldSize >> 1));
    }
    held[heldSize++] = bucket;
  }

  /**
   * The buckets that stay although they should have returned to their previous owner: of each
   * giver, those that moved first go before the others.
   */
  int[] held() {
    return Arrays.copyOf(held, heldSize);
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
