// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

/**
 * Bucket modulo number of backends, as routers spread packets by ECMP and as the strawman of Beamer
 * (NSDI '18, §4.1): even, but nearly every bucket moves when a backend is added or removed. With
 * weights, buckets are dealt in {@link Turns}. O(buckets).
 */
public final class ModuloPlacement implements Placement {
  @Override
  public char[] owners(int buckets, int[] weights) {
    char[] owners = new char[buckets];
    if (Placement.total(weights) > 0) {
      Turns turns = new Turns(weights);
      for (int bucket = 0; bucket < buckets; bucket++) {
        owners[bucket] = (char) turns.next();
      }
    }
    return owners;
  }
}
