// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.backends;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.image.Transitions.SlowStart;
import java.util.List;
import java.util.Optional;

/**
 * @param state "active" (weight > 0) or "draining" (weight 0)
 * @param slowStart of a backend whose share still grows
 */
public record BackendView(
    int id, String address, int weight, String state, int buckets, Optional<Growth> slowStart) {
  /**
   * Times are Unix seconds.
   *
   * @param share of that of the weight, by the latest step; 1 is all of it
   */
  public record Growth(long started, long ends, double share) {
    static Growth of(SlowStart start) {
      return new Growth(start.started(), start.ends(), start.part());
    }
  }

  /** One whose share is that of its weight. */
  public BackendView(int id, String address, int weight, String state, int buckets) {
    this(id, address, weight, state, buckets, Optional.empty());
  }

  /** By ascending id; removed backends are not listed. */
  public static List<BackendView> of(ServiceImage image) {
    int[] owned = image.ring().owned();
    return image.pool().values().stream()
        .map(
            member ->
                new BackendView(
                    member.id(),
                    member.address().toString(),
                    member.weight(),
                    member.state(),
                    owned[member.id()],
                    Optional.ofNullable(image.transitions().slowStarts().get(member.id()))
                        .map(Growth::of)))
        .toList();
  }
}
