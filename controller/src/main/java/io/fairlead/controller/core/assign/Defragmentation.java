// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import java.util.Arrays;

/**
 * Beamer's defragmentation (NSDI '18, appendix A.1): moves a few buckets at a time towards one
 * range of buckets per backend, until rules per backend are as few as the target. The number of
 * buckets of each backend never changes, since buckets are exchanged in cycles: each backend on a
 * cycle gives one bucket to the next.
 *
 * <p>The order of the ranges is chosen again when the set of owners changes, and by each new
 * instance, so that it need not be stored: a ring that is on its way to one order yields that
 * order, except for ties.
 */
public final class Defragmentation implements Upkeep {
  private int[] order = new int[0];

  @Override
  public Step step(Ring ring, int[] weights, Limits limits, FormerOwners formers) {
    Exchange exchange = new Exchange(ring, target(ring), limits, formers);
    char[] next = exchange.run();
    Runs runs = Runs.between(ring, next);
    return new Step(runs, exchange.isReached(), exchange.misplaced());
  }

  /** The owner of each bucket once every backend has one range. */
  char[] target(Ring ring) {
    int[] owned = ring.owned();
    if (!isOrderOf(owned)) {
      order = RangeOrder.of(ring);
    }
    char[] target = new char[ring.buckets()];
    int start = 0;
    for (int id : order) {
      Arrays.fill(target, start, start + owned[id], (char) id);
      start += owned[id];
    }
    return target;
  }

  private boolean isOrderOf(int[] owned) {
    int owners = 0;
    for (int count : owned) {
      owners += count > 0 ? 1 : 0;
    }
    return owners == order.length && Arrays.stream(order).allMatch(id -> owned[id] > 0);
  }
}
