// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import java.util.Arrays;
import java.util.Set;

/**
 * Contiguous buckets that get a new owner, by ascending start and without overlap, in primitive
 * columns: a delta of a fragmented ring has millions of them. Immutable once built.
 */
public final class Runs {
  public static final Runs EMPTY = new Runs(0);

  private int[] starts;
  private int[] counts;
  private char[] currents;
  private char[] previouses;
  private int size;

  private Runs(int capacity) {
    starts = new int[capacity];
    counts = new int[capacity];
    currents = new char[capacity];
    previouses = new char[capacity];
  }

  /**
   * The runs that lead from {@code ring} to the owners {@code next}, one per bucket; unchanged
   * buckets are in no run. A bucket that has no owner for part of its window keeps its previous
   * owner, whose connections are still chained.
   *
   * @param now Unix seconds
   */
  public static Runs between(Ring ring, char[] next, long now, int windowSeconds) {
    return between(ring, Set.of(), next, now, windowSeconds);
  }

  /**
   * As above; besides, no bucket names one of the {@code dead} as its previous owner: the latest
   * one before that lives takes its place, or none.
   */
  public static Runs between(
      Ring ring, Set<Integer> dead, char[] next, long now, int windowSeconds) {
    if (next.length != ring.buckets()) {
      throw new IllegalArgumentException(
          "%d owners for a ring of %d buckets".formatted(next.length, ring.buckets()));
    }
    Chains chains = new Chains(ring, dead, now, windowSeconds);
    Builder runs = new Builder();
    for (int bucket = 0; bucket < next.length; bucket++) {
      boolean isUnchained =
          !dead.isEmpty()
              && ring.isMoved(bucket, now, windowSeconds)
              && dead.contains(ring.previous(bucket));
      if (next[bucket] != ring.current(bucket) || isUnchained) {
        runs.add(bucket, 1, next[bucket], chains.previous(bucket, next[bucket]));
      }
    }
    return runs.build();
  }

  /** The owners of all buckets once these have moved. */
  public char[] owners(Ring ring) {
    char[] owners = ring.current.clone();
    for (int run = 0; run < size; run++) {
      Arrays.fill(owners, starts[run], starts[run] + counts[run], currents[run]);
    }
    return owners;
  }

  public int size() {
    return size;
  }

  public int start(int run) {
    return starts[run];
  }

  public int count(int run) {
    return counts[run];
  }

  public int current(int run) {
    return currents[run];
  }

  public int previous(int run) {
    return previouses[run];
  }

  /** The number of buckets in all runs. */
  public int buckets() {
    int buckets = 0;
    for (int run = 0; run < size; run++) {
      buckets += counts[run];
    }
    return buckets;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Runs runs
        && size == runs.size
        && Arrays.equals(starts, 0, size, runs.starts, 0, size)
        && Arrays.equals(counts, 0, size, runs.counts, 0, size)
        && Arrays.equals(currents, 0, size, runs.currents, 0, size)
        && Arrays.equals(previouses, 0, size, runs.previouses, 0, size);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(Arrays.copyOf(starts, size));
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("[");
    for (int run = 0; run < Math.min(size, 20); run++) {
      text.append(
          " %d+%d:%d<-%d"
              .formatted(starts[run], counts[run], (int) currents[run], (int) previouses[run]));
    }
    return text.append(size > 20 ? " and %d more ]".formatted(size - 20) : " ]").toString();
  }

  /** Collects runs in ascending order and joins adjacent runs with equal owners. */
  public static final class Builder {
    private Runs runs = new Runs(16);

    public Builder add(int start, int count, int current, int previous) {
      int last = runs.size - 1;
      if (last >= 0
          && runs.starts[last] + runs.counts[last] == start
          && runs.currents[last] == current
          && runs.previouses[last] == previous) {
        runs.counts[last] += count;
        return this;
      }
      return addSeparately(start, count, current, previous);
    }

    /** As {@link #add}, but never joins: decoded runs stay as they were encoded. */
    Builder addSeparately(int start, int count, int current, int previous) {
      if (runs.size == runs.starts.length) {
        int capacity = runs.size + (runs.size >> 1);
        runs.starts = Arrays.copyOf(runs.starts, capacity);
        runs.counts = Arrays.copyOf(runs.counts, capacity);
        runs.currents = Arrays.copyOf(runs.currents, capacity);
        runs.previouses = Arrays.copyOf(runs.previouses, capacity);
      }
      runs.starts[runs.size] = start;
      runs.counts[runs.size] = count;
      runs.currents[runs.size] = (char) current;
      runs.previouses[runs.size] = (char) previous;
      runs.size++;
      return this;
    }

    /** The runs; the builder starts again with none. */
    public Runs build() {
      Runs built = runs;
      runs = new Runs(16);
      return built;
    }
  }
}
