// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.upkeep;

import io.fairlead.controller.core.assign.Fragmentation;
import io.fairlead.controller.core.assign.Rebalance;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * How evenly loaded and how fragmented a ring is, and its latest upkeep.
 *
 * @param imbalance the highest load over the average
 * @param rules runs of buckets with one owner
 * @param fragmentation rules per owner
 * @param costs of a bucket of each measured backend, the average being 1
 */
public record UpkeepView(
    String service,
    long generation,
    double imbalance,
    int rules,
    double fragmentation,
    Map<Integer, Double> costs,
    Optional<UpkeepJob> job) {

  public static UpkeepView of(ServiceImage image) {
    Fragmentation fragmentation = Fragmentation.of(image.ring());
    Map<Integer, Double> costs = new TreeMap<>();
    image
        .upkeep()
        .ifPresent(
            state ->
                state
                    .costs()
                    .forEach(
                        (id, cost) -> costs.put(id, cost / (double) UpkeepState.AVERAGE_COST)));
    return new UpkeepView(
        image.config().name(),
        image.ring().generation(),
        imbalance(image),
        fragmentation.rules(),
        fragmentation.rate(),
        costs,
        image.upkeep().map(state -> UpkeepJob.of(image, state)));
  }

  /** By the costs, too, where buckets were measured, and by the shares of slow starts. */
  private static double imbalance(ServiceImage image) {
    return Rebalance.imbalance(image.ring(), image.corrected(image.pool()));
  }
}
