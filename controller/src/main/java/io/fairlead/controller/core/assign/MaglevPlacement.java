// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

/**
 * Maglev's lookup table (Eisenbud et al., NSDI '16, §3.4): each backend has a permutation of all
 * buckets, and in {@link Turns} each takes the next bucket of its permutation that is still free.
 * As even as the turns are. When a backend is removed, some buckets of others move too, and
 * adjacent buckets rarely have the same owner.
 *
 * <p>The paper uses a prime number of buckets so that any step visits all of them; with a power of
 * two any odd step does, and the steps here are odd.
 *
 * <p>O(B log B) expected, as the last free buckets are found only after many taken ones.
 */
public final class MaglevPlacement implements Placement {
  @Override
  public char[] owners(int buckets, int[] weights) {
    char[] owners = new char[buckets];
    if (Placement.total(weights) == 0) {
      return owners;
    }
    int mask = buckets - 1;
    int[] position = new int[weights.length];
    int[] step = new int[weights.length];
    for (int id = 1; id < weights.length; id++) {
      position[id] = (int) PlacementHash.of(id, 0) & mask;
      step[id] = (int) PlacementHash.of(id, 1) & mask | 1;
    }
    // One bit per bucket fits the cache; the owners would not.
    long[] taken = new long[buckets + 63 >> 6];
    Turns turns = new Turns(weights);
    for (int i = 0; i < buckets; i++) {
      int id = turns.next();
      int at = position[id];
      while ((taken[at >> 6] & 1L << at) != 0) {
        at = at + step[id] & mask;
      }
      taken[at >> 6] |= 1L << at;
      owners[at] = (char) id;
      position[id] = at + step[id] & mask;
    }
    return owners;
  }
}
