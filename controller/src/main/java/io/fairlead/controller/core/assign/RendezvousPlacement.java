// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Rendezvous hashing (Thaler and Ravishankar, 1998), weighted: every pair of backend and bucket has
 * a hash that is distributed as an exponential waiting time of rate w, and a bucket belongs to the
 * backend with the shortest. When a backend is removed, only its buckets move, to all others in
 * proportion to the weights; shares vary as in throwing buckets at random.
 *
 * <p>Hashing all pairs is out of reach: 65,535 x 8 Mi are 5e11. So the hashes are defined the other
 * way round: backend i arrives at random buckets at the times (k + u) / w for k = 0, 1, 2, .. with
 * a random u in [0, 1), and its hash with a bucket is the time of its first arrival there. The
 * number of earlier arrivals elsewhere is geometric, so the time is exponential up to one part in
 * the number of buckets. Arrivals are drawn in epochs of one per bucket until every bucket has had
 * one: about B ln B in all, most of which hit a bucket that an earlier epoch has settled. Backends
 * arrive on all cores at once: the minimum of all times does not depend on the order.
 */
public final class RendezvousPlacement implements Placement {
  private static final double JITTER = 0x1p-32;
  private static final int ID_BITS = 16;
  private static final long ID_MASK = (1 << ID_BITS) - 1;

  @Override
  public char[] owners(int buckets, int[] weights) {
    long total = Placement.total(weights);
    if (total == 0) {
      return new char[buckets];
    }
    Arrivals arrivals = new Arrivals(buckets);
    double epoch = (double) buckets / total;
    for (int number = 0; !arrivals.settle(); number++) {
      double begin = number * epoch;
      double end = (number + 1) * epoch;
      IntStream ids = IntStream.range(1, weights.length).filter(id -> weights[id] > 0);
      ids.parallel().forEach(id -> arrivals.add(id, weights[id], begin, end));
    }
    return arrivals.owners();
  }

  /**
   * An arrival's time and backend in one number that orders by time, then by id. Times are
   * positive, so the bits of a double order as the doubles do; the id replaces the last 16 bits of
   * its 52-bit fraction.
   */
  static long key(double time, int id) {
    return Double.doubleToRawLongBits(time) & ~ID_MASK | id;
  }

  private static final class Arrivals {
    private static final VarHandle FIRST = MethodHandles.arrayElementVarHandle(long[].class);

    /** The key of each bucket's first arrival. */
    private final long[] first;

    /** Buckets settled in an earlier epoch: one bit each fits the cache. */
    private final long[] settled;

    Arrivals(int buckets) {
      first = new long[buckets];
      Arrays.fill(first, Long.MAX_VALUE);
      settled = new long[buckets >> 6];
    }

    /** All arrivals of a backend from {@code begin} to before {@code end}; runs on any thread. */
    void add(int id, int weight, double begin, double end) {
      int mask = first.length - 1;
      long seed = PlacementHash.seed(id);
      long last = (long) Math.ceil(end * weight);
      for (long k = Math.max(0, (long) (begin * weight) - 1); k <= last; k++) {
        long hash = PlacementHash.ofSeed(seed, k);
        int bucket = (int) hash & mask;
        if ((settled[bucket >> 6] & 1L << bucket) == 0) {
          double time = (k + (hash >>> 32) * JITTER) / weight;
          if (begin <= time && time < end) {
            lower(bucket, key(time, id));
          }
        }
      }
    }

    private void lower(int bucket, long key) {
      long found = first[bucket];
      while (key < found && !FIRST.compareAndSet(first, bucket, found, key)) {
        found = (long) FIRST.getVolatile(first, bucket);
      }
    }

    /** Ends the epoch; returns whether every bucket has an owner now. */
    boolean settle() {
      boolean isWhole = true;
      for (int word = 0; word < settled.length; word++) {
        if (settled[word] != -1) {
          for (int bit = 0; bit < Long.SIZE; bit++) {
            if (first[word << 6 | bit] != Long.MAX_VALUE) {
              settled[word] |= 1L << bit;
            }
          }
          isWhole &= settled[word] == -1;
        }
      }
      return isWhole;
    }

    char[] owners() {
      char[] owners = new char[first.length];
      for (int bucket = 0; bucket < owners.length; bucket++) {
        owners[bucket] = (char) (first[bucket] & ID_MASK);
      }
      return owners;
    }
  }
}
