// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import io.fairlead.controller.core.assign.Defragmentation;
import io.fairlead.controller.core.assign.Rebalance;
import io.fairlead.controller.core.assign.Upkeep;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import java.time.Instant;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The iterations of one service's rebalance or defragmentation, and the rules for starting one. The
 * order of ranges that a defragmentation works towards is kept only here, since the next controller
 * can derive it from the ring.
 */
public final class UpkeepPlan {
  /** Most loads in a measurement: they have to fit into the node that keeps them. */
  private static final int LOADS_MAX = 8192;

  private static final int TARGET_MAX = 1000;

  private final Defragmentation defragmentation = new Defragmentation();

  /**
   * The first iteration of what the caller ordered.
   *
   * @throws Refusal if it is not allowed
   */
  public PoolPlan start(ServiceImage before, UpkeepOrder order, Instant now, boolean dryRun) {
    check(before, order);
    UpkeepState state =
        UpkeepState.builder(order.kind(), now)
            .limits(order.target(), order.maxMoves())
            .costs(
                order.kind() == Kind.REBALANCE
                    ? costs(before, order.loads())
                    : before.upkeep().map(UpkeepState::costs).orElseGet(TreeMap::new))
            .build();
    return step(before.withUpkeep(state), now, dryRun);
  }

  /** The next iteration of the upkeep that runs in {@code before}. */
  public PoolPlan step(ServiceImage before, Instant now, boolean dryRun) {
    UpkeepState state = before.upkeep().orElseThrow();
    Ring ring = before.ring();
    Instant committed = before.nextCommit(now);
    Upkeep upkeep = state.kind() == Kind.REBALANCE ? new Rebalance() : defragmentation;
    Upkeep.Step step =
        upkeep.step(
            ring,
            before.corrected(before.pool()),
            new Upkeep.Limits(state.target(), state.maxMoves()),
            before.formerOwners(committed));
    UpkeepState after = state.after(committed, step.runs().buckets(), step.left(), step.reached());
    return PoolPlan.of(before.withUpkeep(after), step.runs(), committed, dryRun);
  }

  private static void check(ServiceImage image, UpkeepOrder order) {
    if (!(order.target() >= 1 && order.target() <= TARGET_MAX)) {
      throw Refusal.invalid("target", order.target(), "1..%d".formatted(TARGET_MAX));
    }
    if (order.maxMoves() < 1 || order.maxMoves() > Ring.BUCKETS_MAX) {
      throw Refusal.invalid("maxMoves", order.maxMoves(), "1.." + Ring.BUCKETS_MAX);
    }
    if (order.kind() == Kind.DEFRAGMENT && !order.loads().isEmpty()) {
      throw Refusal.invalid("loads", order.loads().size() + " loads", "loads of a rebalance only");
    }
    if (image.config().assignment() != AssignmentMethod.BEAMER) {
      throw Refusal.conflict(
          "assignment",
          image.config().assignment(),
          "beamer: every other method decides alone who owns which bucket");
    }
    image
        .upkeep()
        .filter(UpkeepState::isRunning)
        .ifPresent(
            running -> {
              throw Refusal.conflict(
                  order.kind().toString(),
                  "a %s is running".formatted(running.kind()),
                  "one at a time: wait for its end, or stop it");
            });
  }

  /** What a bucket of each backend costs, relative to all buckets that were measured. */
  private static SortedMap<Integer, Integer> costs(ServiceImage image, Map<Integer, Double> loads) {
    if (loads.size() > LOADS_MAX) {
      throw Refusal.invalid(
          "loads", loads.size() + " loads", "at most %d loads".formatted(LOADS_MAX));
    }
    int[] owned = image.ring().owned();
    double load = 0;
    long buckets = 0;
    for (Map.Entry<Integer, Double> each : loads.entrySet()) {
      int id = each.getKey();
      if (id <= Backend.NONE || id > Backend.MAX || !image.pool().containsKey(id)) {
        throw Refusal.missing(
            "loads.id", id, "a backend of service '%s'".formatted(image.config().name()));
      }
      if (!(each.getValue() >= 0) || each.getValue().isInfinite()) {
        throw Refusal.invalid("loads.load", each.getValue(), "a number from 0 on");
      }
      load += owned[id] > 0 ? each.getValue() : 0;
      buckets += owned[id];
    }
    SortedMap<Integer, Integer> costs = new TreeMap<>();
    for (Map.Entry<Integer, Double> each : loads.entrySet()) {
      int id = each.getKey();
      if (owned[id] > 0 && load > 0) {
        double relative = each.getValue() / owned[id] / (load / buckets);
        long cost = Math.round(relative * UpkeepState.AVERAGE_COST);
        costs.put(id, (int) Math.max(UpkeepState.COST_MIN, Math.min(UpkeepState.COST_MAX, cost)));
      }
    }
    return costs;
  }
}
