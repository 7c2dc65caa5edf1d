// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Backends that were removed although their servers live, until the window of the removal is over:
 * packets of their connections are chained to them, and buckets name them until then. Agents of
 * theirs are waited for like others.
 *
 * <p>The ring does not say when a backend was removed. What counts is the commit of the first image
 * without it that this leader sees, and the second in which it lost its last bucket, if that is
 * later: between two looks it may have been added and removed again. So another leader may see a
 * window end late, never early.
 */
final class RemovedBackends {
  /** Unix seconds, by backend. */
  private final Map<Integer, Long> removed = new HashMap<>();

  /**
   * These backends.
   *
   * @param now Unix seconds
   */
  Set<Integer> see(ServiceImage image, long now) {
    Ring ring = image.ring();
    Set<Integer> living = new TreeSet<>();
    for (Backend backend : ring.backends().values()) {
      if (backend.removed() && !backend.dead()) {
        living.add(backend.id());
        removed.putIfAbsent(backend.id(), ring.committed());
      }
    }
    removed.keySet().retainAll(living); // it may be added again
    for (int bucket = 0; bucket < ring.buckets() && !living.isEmpty(); bucket++) {
      History owners = ring.history(bucket);
      for (int i = 0; i < owners.size(); i++) {
        long since = owners.since(i);
        removed.computeIfPresent(owners.owner(i), (id, at) -> Math.max(at, since));
      }
    }
    living.removeIf(id -> now >= removed.get(id) + image.config().windowSeconds());
    return living;
  }
}
