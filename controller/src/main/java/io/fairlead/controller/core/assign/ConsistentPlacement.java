// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import java.util.Arrays;

/**
 * Consistent hashing (Karger et al., STOC '97): each backend has points on a circle. A bucket is
 * the place where its share of the circle starts, and belongs to the next point. When a backend is
 * removed, only its buckets move; how even the shares are depends on the number of points.
 *
 * <p>A backend has one point per unit of weight, so that weights of 10 are the ten points per
 * server of Beamer's comparison (NSDI '18, Table 1). If all weights add up to more points than
 * there are buckets, every backend has half of them, rounded up, or a quarter, and so on: more than
 * one point per bucket is wasted work. Crossing such a threshold is the one change that moves more
 * buckets than necessary.
 *
 * <p>Of the points within one bucket's part of the circle only the first counts, so nothing is
 * sorted: O(buckets + points).
 */
public final class ConsistentPlacement implements Placement {
  private static final int HALVINGS_MAX = 16;

  @Override
  public char[] owners(int buckets, int[] weights) {
    char[] owners = new char[buckets];
    if (Placement.total(weights) == 0) {
      return owners;
    }
    int halvings = halvings(buckets, weights);
    int bits = Integer.numberOfTrailingZeros(buckets);
    // The position of the first point within each bucket's part of the circle: the 32 bits below.
    int[] offset = new int[buckets];
    Arrays.fill(offset, -1);
    for (int id = 1; id < weights.length; id++) {
      int points = points(weights[id], halvings);
      long seed = PlacementHash.seed(id);
      for (int point = 0; point < points; point++) {
        long at = PlacementHash.ofSeed(seed, point);
        int bucket = (int) (at >>> 1 >>> 63 - bits);
        int within = (int) (at << bits >>> 32);
        if (owners[bucket] == 0 || Integer.compareUnsigned(within, offset[bucket]) < 0) {
          owners[bucket] = (char) id;
          offset[bucket] = within;
        }
      }
    }
    fillFromNext(owners);
    return owners;
  }

  static int halvings(int buckets, int[] weights) {
    for (int halvings = 0; halvings < HALVINGS_MAX; halvings++) {
      long points = 0;
      for (int id = 1; id < weights.length; id++) {
        points += points(weights[id], halvings);
      }
      if (points <= buckets) {
        return halvings;
      }
    }
    return HALVINGS_MAX;
  }

  static int points(int weight, int halvings) {
    return weight + (1 << halvings) - 1 >> halvings;
  }

  /** A bucket without a point belongs to the next point on the circle. */
  private static void fillFromNext(char[] owners) {
    int mask = owners.length - 1;
    int next = 0;
    while (owners[next] == 0) {
      next++;
    }
    char owner = owners[next];
    for (int i = 1; i <= owners.length; i++) {
      int bucket = next - i & mask;
      if (owners[bucket] == 0) {
        owners[bucket] = owner;
      } else {
        owner = owners[bucket];
      }
    }
  }
}
