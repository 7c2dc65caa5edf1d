// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.History;
import io.fairlead.controller.ring.Ring;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Backends that were removed although their servers live, until the window of the removal is over:
 * packets of their connections are chained to them. They own no bucket, so a code is right for
 * their connections if its history names them, which it does until then. Agents of theirs are
 * waited for like others.
 *
 * <p>The ring does not say when a backend was removed. What counts is the commit of the first image
 * without it that this leader sees: with another leader the window begins anew, it never ends
 * early.
 */
final class RemovedBackends {
  /** Unix seconds, by backend. */
  private final Map<Integer, Long> removed = new HashMap<>();

  /**
   * The buckets that name such a backend, by backend.
   *
   * @param now Unix seconds
   */
  SortedMap<Integer, BitSet> see(ServiceImage image, long now) {
    Ring ring = image.ring();
    int window = image.config().windowSeconds();
    Set<Integer> living = new HashSet<>();
    for (Backend backend : ring.backends().values()) {
      if (backend.removed() && !backend.dead()) {
        living.add(backend.id());
        removed.putIfAbsent(backend.id(), ring.committed());
      }
    }
    removed.keySet().retainAll(living); // it may be added again
    living.removeIf(id -> now >= removed.get(id) + window);
    SortedMap<Integer, BitSet> reached = new TreeMap<>();
    for (int bucket = 0; !living.isEmpty() && bucket < ring.buckets(); bucket++) {
      History owners = ring.history(bucket);
      for (int i = 0; i < owners.size(); i++) {
        if (living.contains(owners.owner(i))) {
          reached.computeIfAbsent(owners.owner(i), id -> new BitSet()).set(bucket);
        }
      }
    }
    return reached;
  }
}
