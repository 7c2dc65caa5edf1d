// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.History;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.steering.othello.ServerBuckets;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;

/**
 * The bucket of each backend that drains and has known connections. Such a backend owns no bucket,
 * so no code is its own. Its connections get the code of one that names it as a former owner, which
 * it keeps doing as long as there are any.
 *
 * @param buckets by backend
 */
record KeptBuckets(Map<Integer, Integer> buckets) {
  /**
   * Of those that name a backend, the one from which packets reach it first, and then the one that
   * it left last.
   *
   * @param known how many connections are known of a backend
   */
  static KeptBuckets of(ServiceImage image, IntUnaryOperator known) {
    Ring ring = image.ring();
    int[] owned = ring.owned();
    boolean[] isWanted = new boolean[Backend.MAX + 1];
    boolean isAny = false;
    for (ServiceImage.Member member : image.pool().values()) {
      int id = member.id();
      isWanted[id] = member.weight() == 0 && owned[id] == 0 && known.applyAsInt(id) > 0;
      isAny |= isWanted[id];
    }
    Map<Integer, Integer> kept = new TreeMap<>();
    for (int bucket = 0; isAny && bucket < ring.buckets(); bucket++) {
      History owners = ring.history(bucket);
      int reached = ring.current(bucket) == Backend.NONE ? 0 : owners.size();
      for (int i = 0; i < reached; i++) {
        Integer best = kept.get(owners.owner(i));
        if (isWanted[owners.owner(i)]
            && (best == null || isBetter(owners, ring.history(best), owners.owner(i)))) {
          kept.put(owners.owner(i), bucket);
        }
      }
    }
    return new KeptBuckets(kept);
  }

  private static boolean isBetter(History one, History other, int backend) {
    int place = one.indexOf(backend);
    int otherPlace = other.indexOf(backend);
    return place < otherPlace
        || (place == otherPlace && one.since(place) > other.since(otherPlace));
  }

  /** The codes of connections of these and of removed backends. */
  ServerBuckets servers(Ring ring, Map<Integer, BitSet> removed) {
    Map<Integer, BitSet> chained = new HashMap<>(removed);
    buckets.forEach((id, bucket) -> chained.computeIfAbsent(id, any -> new BitSet()).set(bucket));
    return ServerBuckets.of(ring, chained);
  }
}
