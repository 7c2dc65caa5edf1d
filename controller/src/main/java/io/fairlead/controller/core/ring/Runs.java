// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.Arrays;

/**
 * Contiguous buckets and an owner for each run of them, the next one or the one that is released,
 * by ascending start and without overlap, in primitive columns: a delta of a fragmented ring has
 * millions of them. Immutable once built.
 */
public final class Runs {
  public static final Runs EMPTY = new Runs(0);

  private int[] starts;
  private int[] counts;
  private char[] owners;
  private int size;

  private Runs(int capacity) {
    starts = new int[capacity];
    counts = new int[capacity];
    owners = new char[capacity];
  }

  /** The moves that lead from {@code ring} to the owners {@code next}, one per bucket. */
  public static Runs between(Ring ring, char[] next) {
    if (next.length != ring.buckets()) {
      throw new IllegalArgumentException(
          "%d owners for a ring of %d buckets".formatted(next.length, ring.buckets()));
    }
    Builder runs = new Builder();
    for (int bucket = 0; bucket < next.length; bucket++) {
      if (next[bucket] != ring.current(bucket)) {
        runs.add(bucket, 1, next[bucket]);
      }
    }
    return runs.build();
  }

  /** The owners of all buckets once these have moved. */
  public char[] owners(Ring ring) {
    char[] moved = ring.current.clone();
    for (int run = 0; run < size; run++) {
      Arrays.fill(moved, starts[run], starts[run] + counts[run], owners[run]);
    }
    return moved;
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

  /** The bucket behind the run. */
  public int end(int run) {
    return starts[run] + counts[run];
  }

  public int owner(int run) {
    return owners[run];
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
        && Arrays.equals(owners, 0, size, runs.owners, 0, size);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(Arrays.copyOf(starts, size));
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("[");
    for (int run = 0; run < Math.min(size, 20); run++) {
      text.append(" %d+%d:%d".formatted(starts[run], counts[run], (int) owners[run]));
    }
    return text.append(size > 20 ? " and %d more ]".formatted(size - 20) : " ]").toString();
  }

  /** Collects runs in ascending order and joins adjacent runs with equal owners. */
  public static final class Builder {
    private Runs runs = new Runs(16);

    public Builder add(int start, int count, int owner) {
      int last = runs.size - 1;
      if (last >= 0
          && runs.starts[last] + runs.counts[last] == start
          && runs.owners[last] == owner) {
        runs.counts[last] += count;
        return this;
      }
      return addSeparately(start, count, owner);
    }

    /** As {@link #add}, but never joins: decoded runs stay as they were encoded. */
    Builder addSeparately(int start, int count, int owner) {
      if (runs.size == runs.starts.length) {
        int capacity = runs.size + (runs.size >> 1);
        runs.starts = Arrays.copyOf(runs.starts, capacity);
        runs.counts = Arrays.copyOf(runs.counts, capacity);
        runs.owners = Arrays.copyOf(runs.owners, capacity);
      }
      runs.starts[runs.size] = start;
      runs.counts[runs.size] = count;
      runs.owners[runs.size] = (char) owner;
      runs.size++;
      return this;
    }

    public int size() {
      return runs.size;
    }

    /** The runs; the builder starts again with none. */
    public Runs build() {
      Runs built = runs;
      runs = new Runs(16);
      return built;
    }
  }
}
