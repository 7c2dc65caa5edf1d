// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The same placements as in textbooks: slow, with objects, and without shortcuts. */
final class PlacementOracle {
  private PlacementOracle() {}

  /** Each bucket's position on the circle is the start of its part; the next point owns it. */
  static char[] consistent(int buckets, int[] weights) {
    TreeMap<BigInteger, Integer> circle = new TreeMap<>();
    int halvings = 0;
    while (pointsOfAll(weights, halvings) > buckets && halvings < 16) {
      halvings++;
    }
    for (int id : Pools.ids(weights)) {
      for (int point = 0; point < points(weights[id], halvings); point++) {
        circle.merge(unsigned(PlacementHash.of(id, point)), id, Math::min);
      }
    }
    char[] owners = new char[buckets];
    BigInteger part = BigInteger.ONE.shiftLeft(64).divide(BigInteger.valueOf(buckets));
    for (int bucket = 0; bucket < buckets && !circle.isEmpty(); bucket++) {
      Map.Entry<BigInteger, Integer> next =
          circle.ceilingEntry(part.multiply(BigInteger.valueOf(bucket)));
      owners[bucket] = (char) (next == null ? circle.firstEntry() : next).getValue().intValue();
    }
    return owners;
  }

  private static long pointsOfAll(int[] weights, int halvings) {
    long sum = 0;
    for (int id : Pools.ids(weights)) {
      sum += points(weights[id], halvings);
    }
    return sum;
  }

  private static long points(int weight, int halvings) {
    return (long) Math.ceil(weight / Math.pow(2, halvings));
  }

  private static BigInteger unsigned(long bits) {
    return new BigInteger(Long.toUnsignedString(bits));
  }

  /** The lowest hash over all pairs. */
  static char[] rendezvous(int buckets, int[] weights) {
    char[] owners = new char[buckets];
    long[] least = new long[buckets];
    Arrays.fill(least, Long.MAX_VALUE);
    for (int id : Pools.ids(weights)) {
      double[] first = firstArrivals(buckets, id, weights[id]);
      for (int bucket = 0; bucket < buckets; bucket++) {
        if (RendezvousPlacement.key(first[bucket], id) < least[bucket]) {
          least[bucket] = RendezvousPlacement.key(first[bucket], id);
          owners[bucket] = (char) id;
        }
      }
    }
    return owners;
  }

  private static double[] firstArrivals(int buckets, int id, int weight) {
    double[] first = new double[buckets];
    Arrays.fill(first, Double.POSITIVE_INFINITY);
    int left = buckets;
    for (long k = 0; left > 0; k++) {
      long hash = PlacementHash.of(id, k);
      int bucket = (int) Long.remainderUnsigned(hash, buckets);
      double time = (k + (hash >>> 32) / Math.pow(2, 32)) / weight;
      left -= first[bucket] == Double.POSITIVE_INFINITY ? 1 : 0;
      first[bucket] = Math.min(first[bucket], time);
    }
    return first;
  }

  /** Each backend's permutation as a list; in turn each takes its first free bucket. */
  static char[] maglev(int buckets, int[] weights) {
    char[] owners = new char[buckets];
    Map<Integer, List<Integer>> permutations = new TreeMap<>();
    for (int id : Pools.ids(weights)) {
      long offset = Long.remainderUnsigned(PlacementHash.of(id, 0), buckets);
      long step = Long.remainderUnsigned(PlacementHash.of(id, 1), buckets) | 1;
      List<Integer> permutation = new ArrayList<>();
      for (int i = 0; i < buckets; i++) {
        permutation.add((int) ((offset + i * step) % buckets));
      }
      permutations.put(id, permutation);
    }
    for (int id : turns(buckets, weights)) {
      for (int bucket : permutations.get(id)) {
        if (owners[bucket] == 0) {
          owners[bucket] = (char) id;
          break;
        }
      }
    }
    return owners;
  }

  static char[] modulo(int buckets, int[] weights) {
    char[] owners = new char[buckets];
    List<Integer> turns = turns(buckets, weights);
    for (int bucket = 0; bucket < turns.size(); bucket++) {
      owners[bucket] = (char) turns.get(bucket).intValue();
    }
    return owners;
  }

  /**
   * The backend whose turn is due in the earliest round; within a round the one that has waited
   * longest, whose previous turn was the earliest.
   */
  private static List<Integer> turns(int turns, int[] weights) {
    int[] taken = new int[weights.length];
    long[] waitsSince = new long[weights.length];
    int[] ids = Pools.ids(weights);
    long heaviest = 0;
    for (int id : ids) {
      heaviest = Math.max(heaviest, weights[id]);
      waitsSince[id] = id - weights.length;
    }
    List<Integer> order = new ArrayList<>();
    for (int turn = 0; turn < turns && ids.length > 0; turn++) {
      long most = heaviest;
      int next =
          Arrays.stream(ids)
              .boxed()
              .min(
                  Comparator.<Integer>comparingLong(
                          id -> (2L * taken[id] + 1) * most / (2L * weights[id]))
                      .thenComparingLong(id -> waitsSince[id]))
              .orElseThrow();
      order.add(next);
      taken[next]++;
      waitsSince[next] = turn;
    }
    return order;
  }
}
