// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.upkeep;

import io.fairlead.controller.core.image.UpkeepState.Kind;
import java.util.Map;

/**
 * A rebalance or defragmentation to start.
 *
 * @param target at which to stop, 1..1000: the highest load over the average, or rules per backend
 * @param maxMoves buckets that a backend gives at most in an iteration, and takes at most
 * @param loads measured load by backend id in any unit, the same for all; empty to use weights
 *     alone
 */
public record UpkeepOrder(Kind kind, double target, int maxMoves, Map<Integer, Double> loads) {
  public UpkeepOrder {
    loads = Map.copyOf(loads);
  }
}
