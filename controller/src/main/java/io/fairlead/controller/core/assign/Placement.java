// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;

/**
 * An assignment that depends on the pool alone and not on former owners, so that two rings with the
 * same pool are equal. Stable hashing can mimic any such method (Beamer, NSDI '18, §4.1), because a
 * bucket may be assigned to any backend. Full buckets move like all others: the method decides
 * where they belong.
 */
public interface Placement extends Assignment {
  /**
   * The owner of each bucket: a backend with a weight, or 0, "no backend", if none has a weight.
   *
   * @param buckets a power of two
   * @param weights by backend id, each 0..65535; index 0 is unused
   */
  char[] owners(int buckets, int[] weights);

  @Override
  default Runs assign(Ring ring, int[] weights, FormerOwners formers) {
    return Runs.between(ring, owners(ring.buckets(), weights));
  }

  static long total(int[] weights) {
    long total = 0;
    for (int id = Backend.NONE + 1; id < weights.length; id++) {
      total += weights[id];
    }
    return total;
  }
}
