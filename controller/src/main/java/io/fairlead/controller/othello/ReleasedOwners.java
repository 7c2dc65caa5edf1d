// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.History;
import io.fairlead.controller.ring.Runs;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/**
 * Former owners that a generation may release: their window is over, and no connection needs their
 * bucket. A generation releases all of a bucket or one, then the oldest.
 */
final class ReleasedOwners {
  /** When the latest ones were due, in Unix seconds. */
  private long last;

  /** Whether a backend has yet to report all that was open at this Unix second. */
  interface Awaited {
    boolean test(int backend, long seconds);
  }

  /**
   * Buckets whose former owners may have connections that are not known: kept ones, those of
   * removed backends, and those of which an owner in the pool has yet to report what it had.
   * Connections of backends that are not in the pool end with the window of the removal ({@link
   * RemovedBackends}).
   */
  static BitSet needed(
      ServiceImage image, KeptBuckets kept, Map<Integer, BitSet> removed, Awaited awaited) {
    BitSet needed = new BitSet();
    kept.buckets().values().forEach(needed::set);
    removed.values().forEach(needed::or);
    Map<History, Boolean> known = new HashMap<>();
    for (int bucket = 0; bucket < image.ring().buckets(); bucket++) {
      History history = image.ring().history(bucket);
      if (known.computeIfAbsent(history, owners -> isAnyAwaited(image, owners, awaited))) {
        needed.set(bucket);
      }
    }
    return needed;
  }

  private static boolean isAnyAwaited(ServiceImage image, History owners, Awaited awaited) {
    for (int i = 0; i < owners.size(); i++) {
      if (image.pool().containsKey(owners.owner(i))
          && awaited.test(owners.owner(i), owners.since(i))) {
        return true;
      }
    }
    return false;
  }

  /** Whether there are any; not soon after the latest ones, so that many are released at once. */
  boolean areDue(ServiceImage image, BitSet needed, long now) {
    int pause = Math.max(1, image.config().windowSeconds() / 8);
    boolean isSoon = now >= last && now < last + pause;
    if (isSoon || of(image, needed, now).size() == 0) {
      return false;
    }
    last = now;
    return true;
  }

  /**
   * @param needed buckets whose histories stay
   * @param now Unix seconds
   */
  static Runs of(ServiceImage image, BitSet needed, long now) {
    Runs.Builder releases = new Runs.Builder();
    for (int bucket = 0; bucket < image.ring().buckets(); bucket++) {
      History owners = image.ring().history(bucket);
      int open = owners.open(now, image.config().windowSeconds());
      if (open < owners.size() && !needed.get(bucket)) {
        releases.add(bucket, 1, open == 0 ? Backend.NONE : owners.owner(owners.size() - 1));
      }
    }
    return releases.build();
  }
}
