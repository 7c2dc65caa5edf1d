// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import java.util.Arrays;

/**
 * Backends taking turns in proportion to their weights, as evenly interleaved as possible: with
 * equal weights they alternate by ascending id.
 *
 * <p>Turn k (from 0) of a backend of weight w is due in round (2k + 1) x wmax / 2w, rounded down,
 * which is the divisor method of Sainte-Laguë: after any number of turns each backend has had its
 * share of them, rounded. A backend whose share is below half a turn has had none. Within a round,
 * those that have waited longest come first.
 *
 * <p>Rounds are a circle of queues, as long as the longest wait; a turn costs O(1).
 */
final class Turns {
  private static final int NONE = 0;

  private final int[] weights;
  private final long heaviest;
  private final int mask;
  private final int[] first;
  private final int[] last;
  private final int[] behind;
  private final int[] taken;
  private long round;

  /**
   * @param weights by backend id, at least one above 0
   */
  Turns(int[] weights) {
    this.weights = weights;
    heaviest = Arrays.stream(weights, 1, weights.length).max().orElse(0);
    if (heaviest == 0) {
      throw new IllegalArgumentException("no backend has a weight");
    }
    int rounds = Math.toIntExact(Long.highestOneBit(heaviest + 1) << 1);
    mask = rounds - 1;
    first = new int[rounds];
    last = new int[rounds];
    behind = new int[weights.length];
    taken = new int[weights.length];
    for (int id = 1; id < weights.length; id++) {
      if (weights[id] > 0) {
        enqueue(id);
      }
    }
  }

  /** The backend whose turn it is. */
  int next() {
    int slot = (int) round & mask;
    while (first[slot] == NONE) {
      round++;
      slot = (int) round & mask;
    }
    int id = first[slot];
    first[slot] = behind[id];
    taken[id]++;
    enqueue(id);
    return id;
  }

  private void enqueue(int id) {
    long due = (2L * taken[id] + 1) * heaviest / (2L * weights[id]);
    int slot = (int) due & mask;
    if (first[slot] == NONE) {
      first[slot] = id;
    } else {
      behind[last[slot]] = id;
    }
    last[slot] = id;
    behind[id] = NONE;
  }
}
