// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
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
 * without it that this leader sees: with another leader the window begins anew, it never ends
 * early.
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
    living.removeIf(id -> now >= removed.get(id) + image.config().windowSeconds());
    return living;
  }
}
