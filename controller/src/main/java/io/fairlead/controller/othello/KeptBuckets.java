// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.EarlierMoves;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.ring.Runs;
import io.fairlead.controller.steering.othello.ServerBuckets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;

/**
 * Moves that are committed anew every third of a window, since connections need them: their packets
 * go to a server that does not own their bucket, and are chained from its owner. That is so until
 * they are known and the next arrays come, whatever these wait for; and for a backend that drains
 * as long as it has connections. Such a backend owns no bucket, so no code is its own. Its
 * connections get the code of one that names it as the owner before.
 *
 * @param buckets of backends that drain, by backend
 */
record KeptBuckets(Map<Integer, Integer> buckets) {
  /**
   * @param known how many connections are known of a backend
   * @param now Unix seconds
   */
  static KeptBuckets of(ServiceImage image, IntUnaryOperator known, long now) {
    Ring ring = image.ring();
    int window = image.config().windowSeconds();
    int[] owned = ring.owned();
    boolean[] isWanted = new boolean[Backend.MAX + 1];
    boolean isAny = false;
    for (ServiceImage.Member member : image.pool().values()) {
      int id = member.id();
      isWanted[id] = member.weight() == 0 && owned[id] == 0 && known.applyAsInt(id) > 0;
      isAny |= isWanted[id];
    }
    if (!isAny) {
      return new KeptBuckets(Map.of());
    }
    int[] latest = new int[Backend.MAX + 1];
    Arrays.fill(latest, -1);
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      int previous = ring.previous(bucket);
      if (isWanted[previous]
          && ring.current(bucket) != Backend.NONE
          && ring.isMoved(bucket, now, window)
          && (latest[previous] < 0 || ring.since(bucket) > ring.since(latest[previous]))) {
        latest[previous] = bucket;
      }
    }
    Map<Integer, Integer> kept = new TreeMap<>();
    int free = 0;
    for (int id : image.pool().keySet()) {
      if (isWanted[id]) {
        int bucket = latest[id];
        if (bucket < 0) {
          free = closed(ring, free, now, window);
          bucket = free == ring.buckets() ? -1 : free++;
        }
        if (bucket >= 0) {
          kept.put(id, bucket);
        }
      }
    }
    return new KeptBuckets(kept);
  }

  /** The codes of connections of these and of removed backends. */
  ServerBuckets servers(Ring ring, Map<Integer, BitSet> removed) {
    Map<Integer, BitSet> chained = new HashMap<>(removed);
    buckets.forEach((id, bucket) -> chained.computeIfAbsent(id, any -> new BitSet()).set(bucket));
    return ServerBuckets.of(ring, chained);
  }

  /**
   * The moves to be committed now. A bucket is due by the earliest of its moves that servers still
   * follow. By its last one, each further move would put the renewal off until the earliest ends.
   *
   * @param needed whose moves are renewed while they are open
   */
  Runs runs(ServiceImage image, BitSet needed, long now) {
    Ring ring = image.ring();
    int window = image.config().windowSeconds();
    Map<Integer, Integer> renewed = new TreeMap<>();
    needed.stream()
        .filter(bucket -> ring.isMoved(bucket, now, window))
        .forEach(bucket -> renewed.put(bucket, ring.previous(bucket)));
    buckets.forEach((id, bucket) -> renewed.put(bucket, id));
    Runs.Builder runs = new Runs.Builder();
    renewed.forEach(
        (bucket, previous) -> {
          boolean isNamed = ring.previous(bucket) == previous;
          if (!isNamed || now >= earliest(ring, bucket) + Math.max(1, window / 3)) {
            runs.add(bucket, 1, ring.current(bucket), previous);
          }
        });
    return runs.build();
  }

  /** When the first of the bucket's moves was that the ring knows. */
  private static long earliest(Ring ring, int bucket) {
    long since = ring.since(bucket);
    for (int back = 0; back < EarlierMoves.DEPTH; back++) {
      if (ring.earlier().owner(bucket, back) != Backend.NONE) {
        since = Math.min(since, ring.earlier().since(bucket, back));
      }
    }
    return since;
  }

  /** The next bucket whose window is closed: nobody needs the owner before. */
  private static int closed(Ring ring, int from, long now, int window) {
    int bucket = from;
    while (bucket < ring.buckets()
        && (ring.current(bucket) == Backend.NONE || ring.isMoved(bucket, now, window))) {
      bucket++;
    }
    return bucket;
  }
}
