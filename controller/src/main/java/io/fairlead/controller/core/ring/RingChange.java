// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What one generation changed: how many buckets it moved, and which backends have more or fewer of
 * them than before. Only the largest differences are kept, since a ring remembers many generations.
 *
 * @param committed Unix seconds
 * @param movedBuckets buckets whose owner changed
 * @param largest the largest differences first, then by id
 * @param others how many backends have a smaller one
 */
public record RingChange(
    long generation, long committed, int movedBuckets, List<Difference> largest, int others) {
  /** Generations that a ring remembers. */
  public static final int REMEMBERED_MAX = 50;

  private static final int LARGEST_MAX = 8;

  /**
   * Of one backend; backend 0 stands for buckets without an owner.
   *
   * @param buckets won, or lost if negative
   */
  public record Difference(int backend, int buckets) {}

  public RingChange {
    largest = List.copyOf(largest);
  }

  /**
   * From {@code before} to the generation of {@code delta}, whose runs are within the ring.
   *
   * @param ids one more than the highest id of both
   */
  static RingChange of(Ring before, Delta delta, int ids) {
    int[] won = new int[ids];
    int moved = 0;
    Runs runs = delta.moves();
    for (int run = 0; run < runs.size(); run++) {
      int owner = runs.owner(run);
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        if (before.current(bucket) != owner) {
          won[before.current(bucket)]--;
          won[owner]++;
          moved++;
        }
      }
    }
    List<Difference> all = new ArrayList<>();
    for (int backend = 0; backend < won.length; backend++) {
      if (won[backend] != 0) {
        all.add(new Difference(backend, won[backend]));
      }
    }
    all.sort(
        Comparator.comparingInt((Difference each) -> -Math.abs(each.buckets()))
            .thenComparingInt(Difference::backend));
    int kept = Math.min(all.size(), LARGEST_MAX);
    return new RingChange(
        delta.generation(), delta.committed(), moved, all.subList(0, kept), all.size() - kept);
  }
}
