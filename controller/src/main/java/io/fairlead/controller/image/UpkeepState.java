// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.image;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.fairlead.controller.word.Word;
import java.util.Collections;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A service's latest rebalance or defragmentation, as it stands in its ZooKeeper node
 * (protocol/README.md §4), from which any controller goes on; and what a bucket of each backend
 * costs, by the latest measurement.
 *
 * @param target rebalance: highest load over average; defragment: rules per backend
 * @param maxMoves buckets that a backend gives at most in an iteration, and takes at most
 * @param moveChained whether buckets inside their window move too
 * @param started Unix seconds
 * @param last Unix seconds of the latest iteration
 * @param movedBuckets in all iterations
 * @param leftBuckets that will have to move yet, at most
 * @param costs in thousandths of the average, by backend id; who is not in it costs the average
 */
@JsonPropertyOrder({
  "format",
  "kind",
  "phase",
  "target",
  "maxMoves",
  "moveChained",
  "started",
  "last",
  "iterations",
  "movedBuckets",
  "leftBuckets",
  "costs"
})
public record UpkeepState(
    int format,
    Kind kind,
    Phase phase,
    double target,
    int maxMoves,
    boolean moveChained,
    long started,
    long last,
    int iterations,
    long movedBuckets,
    int leftBuckets,
    SortedMap<Integer, Integer> costs) {
  public static final int FORMAT = 1;
  public static final int AVERAGE_COST = 1000;
  public static final int COST_MIN = 100;
  public static final int COST_MAX = 10_000;

  /** With costs, weights count a thousand times a thousand, so that nobody's becomes 0. */
  private static final long SCALE = 1_000_000;

  public UpkeepState {
    costs = Collections.unmodifiableSortedMap(new TreeMap<>(costs));
  }

  public enum Kind implements Word {
    REBALANCE,
    DEFRAGMENT;

    @Override
    public String toString() {
      return word();
    }
  }

  public enum Phase implements Word {
    RUNNING,
    REACHED,
    STOPPED;

    @Override
    public String toString() {
      return word();
    }
  }

  public boolean isRunning() {
    return phase == Phase.RUNNING;
  }

  /** After an iteration. */
  public UpkeepState after(long now, int moved, int left, boolean isReached) {
    return new UpkeepState(
        format,
        kind,
        isReached ? Phase.REACHED : Phase.RUNNING,
        target,
        maxMoves,
        moveChained,
        started,
        now,
        iterations + 1,
        movedBuckets + moved,
        left,
        costs);
  }

  public UpkeepState stopped() {
    return isRunning() ? with(Phase.STOPPED, costs) : this;
  }

  /** Without the costs of backends that are gone: their ids may come back as other machines. */
  public UpkeepState within(Set<Integer> ids) {
    if (ids.containsAll(costs.keySet())) {
      return this;
    }
    SortedMap<Integer, Integer> kept = new TreeMap<>(costs);
    kept.keySet().retainAll(ids);
    return with(phase, kept);
  }

  private UpkeepState with(Phase newPhase, SortedMap<Integer, Integer> newCosts) {
    return new UpkeepState(
        format,
        kind,
        newPhase,
        target,
        maxMoves,
        moveChained,
        started,
        last,
        iterations,
        movedBuckets,
        leftBuckets,
        newCosts);
  }

  /**
   * Weights by which buckets are shared out so that loads follow the weights that were given: half
   * of it for whose buckets cost twice the average. Without costs, the weights as they are.
   */
  public int[] corrected(int[] weights) {
    if (costs.isEmpty()) {
      return weights;
    }
    int[] corrected = new int[weights.length];
    for (int id = 1; id < weights.length; id++) {
      corrected[id] = (int) (weights[id] * SCALE / costs.getOrDefault(id, AVERAGE_COST));
    }
    return corrected;
  }
}
