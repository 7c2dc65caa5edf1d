// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A part of the ring folded into cells of neighbouring buckets, to be drawn: millions of buckets in
 * some thousand numbers. All arrays have an entry per cell.
 *
 * @param start first bucket of the part
 * @param count its buckets
 * @param size buckets per cell; the last cell may have fewer
 * @param owners the backend that owns most of the cell; 0 for none
 * @param owned how many of the cell it owns
 * @param moved buckets within the window after their last move
 * @param held buckets that name a former owner although their window is over
 * @param former all former owners of each bucket, newest first; only if a cell is one bucket
 * @param since Unix seconds at which the newest lost it, 0 for none; only if a cell is one bucket
 */
public record RingCells(
    String service,
    long generation,
    int buckets,
    int start,
    int count,
    int size,
    int[] owners,
    int[] owned,
    int[] moved,
    int[] held,
    Optional<int[][]> former,
    Optional<long[]> since) {
  /** Cells of an answer to a request that does not say how many. */
  static final int DEFAULT = 2048;

  /**
   * @param count 0 for all from {@code start} on
   * @param most cells
   * @throws Refusal if the ring has no such part
   */
  public static RingCells of(ServiceImage image, int start, int count, int most, Instant now) {
    Ring ring = image.ring();
    int buckets = ring.buckets();
    if (start >= buckets) {
      throw Refusal.invalid("start", start, "0..%d".formatted(buckets - 1));
    }
    int part = count == 0 ? buckets - start : Math.min(count, buckets - start);
    int size = (part + most - 1) / most;
    int cells = (part + size - 1) / size;
    int[] owners = new int[cells];
    int[] owned = new int[cells];
    int[] moved = new int[cells];
    int[] held = new int[cells];
    int[] tally = new int[Backend.MAX + 1];
    int window = image.config().windowSeconds();
    long seconds = now.getEpochSecond();
    for (int cell = 0; cell < cells; cell++) {
      int first = start + cell * size;
      int end = Math.min(start + part, first + size);
      for (int bucket = first; bucket < end; bucket++) {
        int owner = ring.current(bucket);
        if (++tally[owner] > owned[cell]) {
          owned[cell] = tally[owner];
          owners[cell] = owner;
        }
        if (ring.isMoved(bucket, seconds, window)) {
          moved[cell]++;
        } else if (image.config().releasesOwners() && ring.previous(bucket) != Backend.NONE) {
          held[cell]++;
        }
      }
      for (int bucket = first; bucket < end; bucket++) {
        tally[ring.current(bucket)] = 0;
      }
    }
    boolean isSingle = size == 1;
    int[][] former = new int[isSingle ? cells : 0][];
    long[] since = new long[former.length];
    Arrays.setAll(former, cell -> owners(ring.history(start + cell)));
    Arrays.setAll(since, cell -> ring.since(start + cell));
    return new RingCells(
        image.config().name(),
        ring.generation(),
        buckets,
        start,
        part,
        size,
        owners,
        owned,
        moved,
        held,
        isSingle ? Optional.of(former) : Optional.empty(),
        isSingle ? Optional.of(since) : Optional.empty());
  }

  private static int[] owners(History history) {
    return IntStream.range(0, history.size()).map(history::owner).toArray();
  }
}
