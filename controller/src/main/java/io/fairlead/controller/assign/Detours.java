// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.assign;

import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
import java.util.Arrays;

/**
 * Ways around the owner before for buckets that {@link Transfer} holds: another bucket goes to the
 * backend in question instead, and the held one takes that one's place. So every backend ends with
 * as many buckets as before.
 *
 * <p>Whose place is taken, where there is a choice: first of another held bucket, then of one that
 * moves anyhow, which costs no move; then of one that would stay, at the cost of one more move,
 * those whose window is closed before the others.
 *
 * <p>Only if none is left does a bucket go back. There always is one unless a backend shall have
 * more buckets than there are others than those that left it within the window: any two backends
 * can take every bucket between them, since each bucket has one owner before. Of those with the
 * same owner before the ones that moved first go back. O(B) for B buckets, and O(1) if none is
 * held.
 */
final class Detours {
  private final Ring ring;
  private final long now;
  private final int windowSeconds;

  /** The owners of all buckets afterwards. */
  private final char[] next;

  private interface Candidates {
    boolean test(int bucket);
  }

  private Detours(Ring ring, char[] next, long now, int windowSeconds) {
    this.ring = ring;
    this.next = next;
    this.now = now;
    this.windowSeconds = windowSeconds;
  }

  /** Gives each bucket that {@link Transfer#held} names an owner in {@code next}. */
  static void take(int[] held, Ring ring, char[] next, long now, int windowSeconds) {
    if (held.length > 0) {
      new Detours(ring, next, now, windowSeconds).take(held);
    }
  }

  private void take(int[] held) {
    int[] sorted = byTaker(held);
    for (int bucket : sorted) {
      next[bucket] = (char) ring.previous(bucket);
    }
    cross(sorted);
    for (int start = 0; start < sorted.length; ) {
      int taker = ring.previous(sorted[start]);
      int size = 0;
      int at = start;
      for (; at < sorted.length && ring.previous(sorted[at]) == taker; at++) {
        if (next[sorted[at]] == taker) {
          sorted[start + size++] = sorted[at];
        }
      }
      detour(sorted, start, start + size, taker);
      start = at;
    }
  }

  /** Those that should have gone to the same backend beside each other, else in the same order. */
  private int[] byTaker(int[] held) {
    int[] starts = new int[Backend.MAX + 2];
    for (int bucket : held) {
      starts[ring.previous(bucket) + 1]++;
    }
    Arrays.parallelPrefix(starts, Integer::sum);
    int[] sorted = new int[held.length];
    for (int bucket : held) {
      sorted[starts[ring.previous(bucket)]++] = bucket;
    }
    return sorted;
  }

  /**
   * Lets pairs of held buckets go to each other's taker. Half of all sorted ones apart, takers
   * differ, unless one taker's are more than half: so of all takers but two nothing is left.
   */
  private void cross(int[] sorted) {
    int half = sorted.length / 2;
    for (int i = 0; i < half; i++) {
      int one = ring.previous(sorted[i]);
      int other = ring.previous(sorted[i + half]);
      if (one != other) {
        next[sorted[i]] = (char) other;
        next[sorted[i + half]] = (char) one;
      }
    }
  }

  private void detour(int[] returning, int start, int end, int taker) {
    int left = swap(returning, start, end, taker, bucket -> next[bucket] != ring.current(bucket));
    left = swap(returning, start, left, taker, bucket -> !ring.isMoved(bucket, now, windowSeconds));
    swap(returning, start, left, taker, bucket -> true);
  }

  /**
   * Lets candidates go to the taker, and from the end those that return to where the candidates
   * should have gone; the end of those that are left.
   */
  private int swap(int[] returning, int start, int end, int taker, Candidates candidates) {
    int left = end;
    for (int bucket = 0; bucket < next.length && left > start; bucket++) {
      if (next[bucket] != taker
          && candidates.test(bucket)
          && !ring.isReturn(bucket, taker, now, windowSeconds)) {
        next[returning[--left]] = next[bucket];
        next[bucket] = (char) taker;
      }
    }
    return left;
  }
}
