// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.EarlierMoves;
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
 * their connections if open moves lead from it to them. Agents of theirs are waited for like
 * others.
 *
 * <p>The ring does not say when a backend was removed. What counts is the commit of the first image
 * without it that this leader sees: with another leader the window begins anew, it never ends
 * early.
 */
final class RemovedBackends {
  /** Unix seconds, by backend. */
  private final Map<Integer, Long> removed = new HashMap<>();

  /**
   * Those that are reached.
   *
   * @param buckets from which open moves lead to a backend, by backend
   * @param early those of them that left it before the removal: the window of that move ends before
   *     that of the removal
   */
  record Reached(SortedMap<Integer, BitSet> buckets, BitSet early) {
    static final Reached NONE = new Reached(new TreeMap<>(), new BitSet());
  }

  /**
   * @param now Unix seconds
   */
  Reached see(ServiceImage image, long now) {
    Ring ring = image.ring();
    int window = image.config().windowSeconds();
    Set<Integer> living = new HashSet<>();
    for (Backend backend : ring.backends().values()) {
      if (backend.removed() && !backend.isDead()) {
        living.add(backend.id());
        removed.putIfAbsent(backend.id(), ring.committed());
      }
    }
    removed.keySet().retainAll(living); // it may be added again
    living.removeIf(id -> now >= removed.get(id) + window);
    return living.isEmpty() ? Reached.NONE : reached(ring, living, now, window);
  }

  private Reached reached(Ring ring, Set<Integer> living, long now, int window) {
    Reached reached = new Reached(new TreeMap<>(), new BitSet());
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (!ring.isMoved(bucket, now, window)) {
        continue;
      }
      add(living, bucket, ring.previous(bucket), ring.since(bucket), reached);
      for (int back = 0; back < EarlierMoves.DEPTH; back++) {
        int owner = ring.earlier().owner(bucket, back);
        add(living, bucket, owner, ring.earlier().since(bucket, back), reached);
      }
    }
    return reached;
  }

  private void add(Set<Integer> living, int bucket, int owner, long left, Reached reached) {
    if (living.contains(owner)) {
      reached.buckets().computeIfAbsent(owner, id -> new BitSet()).set(bucket);
      if (left < removed.get(owner)) {
        reached.early().set(bucket);
      }
    }
  }
}
