// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.othello.ServerBuckets;
import java.util.BitSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;

/**
 * The buckets of backends that own none any more and may have connections: those that drain and
 * have known ones, and those that were removed lately. A code is right for these connections if its
 * bucket names the backend, which such buckets go on doing.
 *
 * @param buckets by backend
 */
record LeftBuckets(Map<Integer, BitSet> buckets) {
  /**
   * @param removed backends that were removed although their servers live ({@link RemovedBackends})
   * @param known how many connections are known of a backend
   */
  static LeftBuckets of(ServiceImage image, Set<Integer> removed, IntUnaryOperator known) {
    Ring ring = image.ring();
    int[] owned = ring.owned();
    boolean[] isWanted = new boolean[Backend.MAX + 1];
    for (int id : image.pool().keySet()) {
      isWanted[id] = owned[id] == 0 && known.applyAsInt(id) > 0;
    }
    removed.forEach(id -> isWanted[id] = true);
    Map<Integer, BitSet> left = new TreeMap<>();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      History owners = ring.history(bucket);
      for (int i = 0; i < owners.size(); i++) {
        if (isWanted[owners.owner(i)]) {
          left.computeIfAbsent(owners.owner(i), id -> new BitSet()).set(bucket);
        }
      }
    }
    return new LeftBuckets(left);
  }

  boolean has(int backend) {
    return buckets.containsKey(backend);
  }

  /** How many there are, by backend. */
  Map<Integer, Integer> counts() {
    Map<Integer, Integer> counts = new TreeMap<>();
    buckets.forEach((id, set) -> counts.put(id, set.cardinality()));
    return counts;
  }

  /** The codes that connections may have. */
  ServerBuckets servers(Ring ring) {
    return ServerBuckets.of(ring, buckets);
  }
}
