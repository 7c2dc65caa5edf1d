// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.assign;

import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
import java.util.Arrays;

/**
 * Alternatives to the previous owner for buckets that {@link Transfer} holds: another bucket goes
 * to that backend instead, and the held one takes its place. So every backend ends with as many
 * buckets as before.
 *
 * <p>The place that is taken is, in this order: that of another held bucket; that of a bucket that
 * moves anyway, which costs no move; that of a bucket that would stay, which costs one more move,
 * those whose window is closed first.
 *
 * <p>A bucket returns only if no such place is left. There always is one unless a backend is to
 * have more buckets than all those that did not leave it within the window: any two backends can
 * take every bucket between them, since each bucket has one previous owner. Of those with the same
 * previous owner, the ones that moved first return. O(B) for B buckets, and O(1) if none is held.
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

  /** Chooses an owner in {@code next} for each bucket in {@link Transfer#held}. */
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

  /** Groups those with the same intended owner, otherwise keeps their order. */
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
   * Swaps the takers of pairs of held buckets. Two sorted buckets that are half of all apart have
   * different takers, unless one taker has more than half: so buckets of at most two takers are
   * left.
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
   * Gives candidates to the taker and, in exchange, held buckets from the end to the candidates'
   * intended owners; returns the end of those that are left.
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
