// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import io.fairlead.controller.core.ring.RefusedException.Reason;
import java.util.Arrays;
import java.util.Optional;

/**
 * The runs of a delta by owner (protocol/README.md §5): each run counts among the buckets that its
 * owner has before the delta, by ascending number. An owner whose buckets are scattered over the
 * ring gives them away in one such run, but in as many runs by number as it has buckets: a delta
 * that moves half of 8 Mi scattered buckets between 64 K backends has 64 K runs instead of 4 Mi.
 *
 * <p>Ascending by owner, then by start. Immutable once built, in primitive columns.
 */
final class OwnerRuns {
  private static final int OWNERS = Backend.MAX + 1;

  /** Up to this number of runs by number, they cost a reader less than a walk over all buckets. */
  private static final int WORTH_A_WALK = 8192;

  final int size;
  final int[] starts;
  final int[] counts;
  final char[] currents;
  final char[] owners;

  OwnerRuns(int size) {
    this.size = size;
    starts = new int[size];
    counts = new int[size];
    currents = new char[size];
    owners = new char[size];
  }

  /**
   * The same moves as {@code runs} of a delta on {@code base}; empty if runs by number are no
   * worse.
   */
  static Optional<OwnerRuns> ifSmaller(Ring base, Runs runs) {
    return runs.size() <= WORTH_A_WALK ? Optional.empty() : of(base, runs, runs.size() / 2);
  }

  static OwnerRuns of(Ring base, Runs runs) {
    return of(base, runs, base.buckets()).orElseThrow();
  }

  /** Empty if there are more than {@code most}. */
  private static Optional<OwnerRuns> of(Ring base, Runs runs, int most) {
    Collector collector = new Collector(most);
    int bucket = 0;
    for (int run = 0; run < runs.size(); run++) {
      for (; bucket < runs.start(run); bucket++) {
        collector.pass(base.current[bucket]);
      }
      char current = (char) runs.owner(run);
      for (int end = bucket + runs.count(run); bucket < end; bucket++) {
        if (!collector.add(base.current[bucket], current)) {
          return Optional.empty();
        }
      }
    }
    return Optional.of(collector.sorted());
  }

  /**
   * The same moves by number.
   *
   * @throws RefusedException if an owner has fewer buckets than its runs ask for, or owners descend
   */
  Runs byNumber(Ring base) throws RefusedException {
    checkOwned(base.owned());
    int[] next = new int[OWNERS];
    Arrays.fill(next, size);
    for (int run = size - 1; run >= 0; run--) {
      next[owners[run]] = run;
    }
    int[] passed = new int[OWNERS];
    Runs.Builder runs = new Runs.Builder();
    for (int bucket = 0; bucket < base.buckets(); bucket++) {
      char owner = base.current[bucket];
      int rank = passed[owner]++;
      int run = next[owner];
      if (run < size && rank >= starts[run]) {
        runs.add(bucket, 1, currents[run]);
        if (rank + 1 == starts[run] + counts[run]) {
          next[owner] = run + 1 < size && owners[run + 1] == owner ? run + 1 : size;
        }
      }
    }
    return runs.build();
  }

  private void checkOwned(int[] owned) throws RefusedException {
    for (int run = 0; run < size; run++) {
      if (run > 0 && owners[run] < owners[run - 1]) {
        throw new RefusedException(
            Reason.RUN, "of owner %d after %d".formatted((int) owners[run], (int) owners[run - 1]));
      }
      if ((long) starts[run] + counts[run] > owned[owners[run]]) {
        throw new RefusedException(
            Reason.RUN,
            "%d+%d of the %d buckets of %d"
                .formatted(starts[run], counts[run], owned[owners[run]], (int) owners[run]));
      }
    }
  }

  /**
   * Collects buckets by ascending number, and joins those that are adjacent among their owner's
   * buckets.
   */
  private static final class Collector {
    private final int most;
    private final int[] passed = new int[OWNERS];

    /** By owner: its latest run; -1 before the first. */
    private final int[] latest = new int[OWNERS];

    private OwnerRuns runs = new OwnerRuns(1024);
    private int size;

    Collector(int most) {
      this.most = most;
      Arrays.fill(latest, -1);
    }

    void pass(char owner) {
      passed[owner]++;
    }

    /** Returns false if there are too many. */
    boolean add(char owner, char current) {
      int rank = passed[owner]++;
      int last = latest[owner];
      if (last >= 0
          && runs.starts[last] + runs.counts[last] == rank
          && runs.currents[last] == current) {
        runs.counts[last]++;
        return true;
      }
      if (size == most) {
        return false;
      }
      if (size == runs.size) {
        runs = runs.copy(Math.min(Math.max(most, 1), size + (size >> 1)));
      }
      runs.set(size, rank, 1, current, owner);
      latest[owner] = size++;
      return true;
    }

    OwnerRuns sorted() {
      int[] at = new int[OWNERS + 1];
      for (int run = 0; run < size; run++) {
        at[runs.owners[run] + 1]++;
      }
      for (int owner = 0; owner < OWNERS; owner++) {
        at[owner + 1] += at[owner];
      }
      OwnerRuns sorted = new OwnerRuns(size);
      for (int run = 0; run < size; run++) {
        sorted.set(
            at[runs.owners[run]]++,
            runs.starts[run],
            runs.counts[run],
            runs.currents[run],
            runs.owners[run]);
      }
      return sorted;
    }
  }

  void set(int run, int start, int count, char current, char owner) {
    starts[run] = start;
    counts[run] = count;
    currents[run] = current;
    owners[run] = owner;
  }

  private OwnerRuns copy(int newSize) {
    OwnerRuns copy = new OwnerRuns(newSize);
    System.arraycopy(starts, 0, copy.starts, 0, size);
    System.arraycopy(counts, 0, copy.counts, 0, size);
    System.arraycopy(currents, 0, copy.currents, 0, size);
    System.arraycopy(owners, 0, copy.owners, 0, size);
    return copy;
  }
}
