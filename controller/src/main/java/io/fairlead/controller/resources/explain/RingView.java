// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Ring;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The owners of all buckets.
 *
 * @param runs backend id to {start, count} pairs by ascending start; id 0 holds unassigned buckets
 * @param chained by former owner; absent without a hold
 */
public record RingView(
    String service,
    long generation,
    int buckets,
    Map<Integer, List<int[]>> runs,
    Optional<Map<Integer, Chained>> chained) {
  /**
   * Buckets whose packets are chained to one former owner until they are released.
   *
   * @param since Unix seconds of their earliest last move
   * @param until Unix seconds at which the last of them is released, at the latest
   */
  public record Chained(int buckets, long since, long until) {
    Chained and(long other, int heldSeconds) {
      return new Chained(buckets + 1, Math.min(since, other), Math.max(until, other + heldSeconds));
    }
  }

  public static RingView of(ServiceImage image) {
    Ring ring = image.ring();
    Map<Integer, List<int[]>> runs = new TreeMap<>();
    int start = 0;
    for (int bucket = 1; bucket <= ring.buckets(); bucket++) {
      if (bucket == ring.buckets() || ring.current(bucket) != ring.current(start)) {
        runs.computeIfAbsent(ring.current(start), owner -> new ArrayList<>())
            .add(new int[] {start, bucket - start});
        start = bucket;
      }
    }
    return new RingView(
        image.config().name(),
        ring.generation(),
        ring.buckets(),
        runs,
        image.config().holdSeconds() > 0 ? Optional.of(chained(image)) : Optional.empty());
  }

  private static Map<Integer, Chained> chained(ServiceImage image) {
    Ring ring = image.ring();
    int held = image.config().heldSeconds();
    Map<Integer, Chained> chained = new TreeMap<>();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.previous(bucket) != Backend.NONE) {
        chained.merge(
            ring.previous(bucket),
            new Chained(1, ring.since(bucket), ring.since(bucket) + held),
            (before, one) -> before.and(one.since(), held));
      }
    }
    return chained;
  }
}
