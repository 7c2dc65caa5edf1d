// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.Set;

/**
 * Which former owners of a bucket count at a second, and how many a bucket may have. A packet names
 * all that count, and has room for no more than {@code most}: a bucket that has as many is
 * <em>full</em>, and by moving to one that is not among them it would lose the oldest, whose
 * connections break.
 *
 * <p>A packet to a foreign end-point names none: a bucket that moves to one loses its owner, too.
 *
 * @param now Unix seconds
 * @param windowSeconds how long one counts after it has left the bucket
 * @param foreign end-points
 */
public record FormerOwners(long now, int windowSeconds, int most, Set<Integer> foreign) {
  /** Of a service without foreign end-points. */
  public FormerOwners(long now, int windowSeconds, int most) {
    this(now, windowSeconds, most, Set.of());
  }

  public FormerOwners {
    foreign = Set.copyOf(foreign);
    if (most < 1 || most > History.most(false)) {
      throw new IllegalArgumentException(
          "%d former owners; allowed: 1..%d".formatted(most, History.most(false)));
    }
  }

  /** How many the bucket has, from the newest on. */
  public int open(Ring ring, int bucket) {
    return ring.history(bucket).open(now, windowSeconds);
  }

  /** Whether the bucket has any. */
  public boolean isMoved(Ring ring, int bucket) {
    return ring.history(bucket).isOpen(now, windowSeconds);
  }

  public boolean isFull(Ring ring, int bucket) {
    return open(ring, bucket) >= most;
  }

  /** Whether this backend is one of the bucket's. */
  public boolean has(Ring ring, int bucket, int backend) {
    int place = ring.history(bucket).indexOf(backend);
    return place >= 0 && place < open(ring, bucket);
  }

  /** Whether the bucket would lose one by moving to {@code next}. */
  public boolean overflows(Ring ring, int bucket, int next) {
    int owner = ring.current(bucket);
    return owner != Backend.NONE
        && owner != next
        && ((!foreign.isEmpty() && foreign.contains(next))
            || (isFull(ring, bucket) && !has(ring, bucket, next)));
  }

  /**
   * Seconds until a full bucket is so no more.
   *
   * @param keptSeconds how long one counts after it has left the bucket, at most
   */
  public long secondsLeft(Ring ring, int bucket, int keptSeconds) {
    return ring.history(bucket).since(most - 1) + keptSeconds - now;
  }
}
