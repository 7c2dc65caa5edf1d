// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.explain;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Ring;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The owners of all buckets.
 *
 * @param runs backend id to {start, count} pairs by ascending start; id 0 holds unassigned buckets
 */
public record RingView(
    String service, long generation, int buckets, Map<Integer, List<int[]>> runs) {
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
    return new RingView(image.config().name(), ring.generation(), ring.buckets(), runs);
  }
}
