// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.fairlead.controller.core.words.Word;
import java.time.Instant;
import java.util.Collections;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A service's latest rebalance or defragmentation, as it is in its ZooKeeper node
 * (protocol/README.md §4), from which any controller continues; and what a bucket of each backend
 * costs, by the latest measurement.
 *
 * @param target rebalance: highest load over average; defragment: rules per backend
 * @param maxMoves most buckets that a backend gives in an iteration, and most that it takes
 * @param started Unix seconds
 * @param last Unix seconds of the latest iteration
 * @param movedBuckets in all iterations
 * @param leftBuckets upper bound of those that still have to move
 * @param costs in thousandths of the average, by backend id; a backend without an entry costs the
 *     average
 */
@JsonPropertyOrder({
  "format",
  "kind",
  "phase",
  "target",
  "maxMoves",
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

  /** With costs, weights are scaled up, so that no backend's is rounded to 0. */
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
  public UpkeepState after(Instant now, int moved, int left, boolean isReached) {
    Builder builder = toBuilder();
    builder.phase = isReached ? Phase.REACHED : Phase.RUNNING;
    builder.last = now.getEpochSecond();
    builder.iterations = iterations + 1;
    builder.movedBuckets = movedBuckets + moved;
    builder.leftBuckets = left;
    return builder.build();
  }

  public UpkeepState stopped() {
    if (!isRunning()) {
      return this;
    }
    Builder builder = toBuilder();
    builder.phase = Phase.STOPPED;
    return builder.build();
  }

  /** Without the costs of removed backends: their ids may come back as other machines. */
  public UpkeepState within(Set<Integer> ids) {
    if (ids.containsAll(costs.keySet())) {
      return this;
    }
    SortedMap<Integer, Integer> kept = new TreeMap<>(costs);
    kept.keySet().retainAll(ids);
    return toBuilder().costs(kept).build();
  }

  /** One that starts at {@code now}, before its first iteration. */
  public static Builder builder(Kind kind, Instant now) {
    return new Builder(kind, now.getEpochSecond());
  }

  private Builder toBuilder() {
    Builder builder = new Builder(kind, started).limits(target, maxMoves).costs(costs);
    builder.phase = phase;
    builder.last = last;
    builder.iterations = iterations;
    builder.movedBuckets = movedBuckets;
    builder.leftBuckets = leftBuckets;
    return builder;
  }

  /** Sets a state's fields by name. */
  public static final class Builder {
    private final Kind kind;
    private final long started;
    private Phase phase = Phase.RUNNING;
    private double target;
    private int maxMoves;
    private long last;
    private int iterations;
    private long movedBuckets;
    private int leftBuckets;
    private SortedMap<Integer, Integer> costs = new TreeMap<>();

    private Builder(Kind kind, long started) {
      this.kind = kind;
      this.started = started;
      this.last = started;
    }

    /** As in {@link UpkeepState}. */
    public Builder limits(double newTarget, int newMaxMoves) {
      target = newTarget;
      maxMoves = newMaxMoves;
      return this;
    }

    public Builder costs(SortedMap<Integer, Integer> newCosts) {
      costs = newCosts;
      return this;
    }

    public UpkeepState build() {
      return new UpkeepState(
          FORMAT,
          kind,
          phase,
          target,
          maxMoves,
          started,
          last,
          iterations,
          movedBuckets,
          leftBuckets,
          costs);
    }
  }

  /**
   * Weights by which to assign buckets so that loads follow the configured weights: half of it for
   * a backend whose buckets cost twice the average. Without costs, the weights as they are.
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
