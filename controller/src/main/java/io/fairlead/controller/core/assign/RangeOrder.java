// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.Ring;
import java.util.Arrays;
import java.util.PriorityQueue;

/**
 * The order in which backends are to own one range each, so that few buckets have to move: the
 * target mapping of Beamer's defragmentation (NSDI '18, A.1). Greedy from bucket 0 on: the next
 * range goes to the backend that already owns most of it, relative to what it owns in total. (For
 * backends with equally many buckets this is the paper's least churn. Where they differ, least
 * churn would place the small ones first wherever they are.)
 *
 * <p>Only owners of nearby buckets can be best, so only a stretch of {@link #STRETCH} average
 * ranges is examined; for a backend that owns more than that, its own buckets are searched for the
 * exact count. If no remaining backend owns a bucket nearby, the next is the one that has lost most
 * of its buckets to ranges of others, because it has least to lose. O(B + N log N) unless many own
 * far more than the average.
 */
final class RangeOrder {
  private static final int STRETCH = 4;
  private static final int RATIO_BITS = 32;
  private static final int ID_BITS = 16;

  private final Ring ring;
  private final int[] owned;

  /** Bucket numbers by owner, and where those of each id start. */
  private final int[] buckets;

  private final int[] starts;
  private final boolean[] isPlaced;

  /** For each backend, the number of its buckets that are not yet in another backend's range. */
  private final int[] remaining;

  private final PriorityQueue<Long> poorest = new PriorityQueue<>();
  private final int[] nearby;
  private final int[] seen;

  private RangeOrder(Ring ring) {
    this.ring = ring;
    owned = ring.owned();
    starts = new int[owned.length + 1];
    for (int id = 0; id < owned.length; id++) {
      starts[id + 1] = starts[id] + owned[id];
    }
    buckets = new int[ring.buckets()];
    int[] ends = starts.clone();
    for (int bucket = 0; bucket < buckets.length; bucket++) {
      buckets[ends[ring.current(bucket)]++] = bucket;
    }
    isPlaced = new boolean[owned.length];
    remaining = owned.clone();
    nearby = new int[owned.length];
    seen = new int[owned.length];
  }

  /** The ids of all backends that own a bucket. */
  static int[] of(Ring ring) {
    return new RangeOrder(ring).order();
  }

  private int[] order() {
    int backends = 0;
    for (int id = 0; id < owned.length; id++) {
      if (owned[id] > 0) {
        backends++;
        rankPoorest(id);
      }
    }
    int stretch = Math.max(1, STRETCH * (ring.buckets() / backends));
    int[] order = new int[backends];
    int start = 0;
    for (int i = 0; i < backends; i++) {
      int id = best(start, Math.min(ring.buckets(), start + stretch));
      order[i] = id;
      isPlaced[id] = true;
      for (int bucket = start; bucket < start + owned[id]; bucket++) {
        int loser = ring.current(bucket);
        remaining[loser]--;
        if (Integer.bitCount(remaining[loser]) <= 1 && !isPlaced[loser]) {
          rankPoorest(loser);
        }
      }
      start += owned[id];
    }
    return order;
  }

  private int best(int start, int end) {
    int candidates = 0;
    for (int bucket = start; bucket < end; bucket++) {
      int id = ring.current(bucket);
      if (!isPlaced[id] && bucket - start < owned[id] && nearby[id]++ == 0) {
        seen[candidates++] = id;
      }
    }
    int best = -1;
    long bestOwn = 0;
    for (int i = 0; i < candidates; i++) {
      int id = seen[i];
      long own = owned[id] <= end - start ? nearby[id] : count(id, start, start + owned[id]);
      nearby[id] = 0;
      if (best < 0 || own * owned[best] > bestOwn * owned[id]) {
        best = id;
        bestOwn = own;
      }
    }
    return best < 0 ? nextPoorest() : best;
  }

  /** How many buckets of {@code id} are in a range. */
  private int count(int id, int from, int to) {
    return search(id, to) - search(id, from);
  }

  private int search(int id, int bucket) {
    int at = Arrays.binarySearch(buckets, starts[id], starts[id + 1], bucket);
    return at < 0 ? -at - 1 : at;
  }

  private void rankPoorest(int id) {
    long ratio = ((long) remaining[id] << RATIO_BITS) / owned[id];
    poorest.add(ratio << ID_BITS | id);
  }

  /** Skips entries of backends that are placed, and outdated ones of those that are not. */
  private int nextPoorest() {
    int id;
    do {
      id = (int) (poorest.remove() & (1 << ID_BITS) - 1);
    } while (isPlaced[id]);
    return id;
  }
}
