// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.backends;

import io.fairlead.controller.image.ServiceImage;
import java.util.List;

/** {@code state} is "active" (weight > 0) or "draining" (weight 0). */
public record BackendView(int id, String address, int weight, String state, int buckets) {
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
                    owned[member.id()]))
        .toList();
  }
}
