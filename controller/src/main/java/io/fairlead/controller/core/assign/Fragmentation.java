// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.Ring;

/**
 * How many rules a switch that matches ranges needs for a ring: one for each run of adjacent
 * buckets with the same owner (Beamer, NSDI '18, §4.1).
 *
 * @param rules runs of the ring
 * @param backends that own at least one bucket, "no backend" included
 */
public record Fragmentation(int rules, int backends) {
  public static Fragmentation of(Ring ring) {
    int rules = 1;
    for (int bucket = 1; bucket < ring.buckets(); bucket++) {
      rules += ring.current(bucket) == ring.current(bucket - 1) ? 0 : 1;
    }
    int backends = 0;
    for (int owned : ring.owned()) {
      backends += owned > 0 ? 1 : 0;
    }
    return new Fragmentation(rules, backends);
  }

  /** Average rules per backend: 1 at best. */
  public double rate() {
    return (double) rules / backends;
  }
}
