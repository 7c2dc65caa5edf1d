// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.EarlierMoves;
import io.fairlead.controller.ring.Ring;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/**
 * Buckets that former owners may have connections in which their agents have not reported yet.
 * Nothing but the bucket's open move leads to such a connection, from owner to owner, so the window
 * must not end before it is known.
 *
 * <p>Remembers when each owner left the bucket: to renew a move gives it another time in the ring.
 */
final class UnreportedMoves {
  /** The former owners of a bucket that its packets reach at most. */
  private static final int LINE = 1 + EarlierMoves.DEPTH;

  private final int[] current;

  /** Of bucket b from b * LINE on, the latest first, then 0. */
  private final char[] owners;

  /** When each of them left, in Unix seconds. */
  private final int[] left;

  private final char[] line = new char[LINE];
  private final int[] since = new int[LINE];

  UnreportedMoves(int buckets) {
    current = new int[buckets];
    owners = new char[buckets * LINE];
    left = new int[buckets * LINE];
  }

  /** Whether a backend has yet to report all that was open at this Unix second. */
  interface Awaited {
    boolean test(int backend, long seconds);
  }

  private record Leaving(int owner, int left) {}

  /**
   * The buckets of such moves. Of backends that are not in the pool there are none: their
   * connections end with the window of the removal ({@link RemovedBackends}).
   *
   * @param now Unix seconds
   */
  BitSet buckets(ServiceImage image, long now, Awaited awaited) {
    Ring ring = image.ring();
    int window = image.config().windowSeconds();
    BitSet buckets = new BitSet();
    Map<Leaving, Boolean> known = new HashMap<>();
    for (int bucket = 0; bucket < current.length; bucket++) {
      Arrays.fill(line, (char) Backend.NONE);
      if (ring.isMoved(bucket, now, window)) {
        read(ring, bucket);
      }
      current[bucket] = ring.current(bucket);
      System.arraycopy(line, 0, owners, bucket * LINE, LINE);
      System.arraycopy(since, 0, left, bucket * LINE, LINE);
      for (int i = 0; i < LINE && !buckets.get(bucket); i++) {
        boolean isAwaited =
            image.pool().containsKey((int) line[i])
                && known.computeIfAbsent(
                    new Leaving(line[i], since[i]),
                    leaving ->
                        awaited.test(leaving.owner(), Integer.toUnsignedLong(leaving.left())));
        buckets.set(bucket, isAwaited);
      }
    }
    return buckets;
  }

  /** The bucket's line now, and when each of it left. */
  private void read(Ring ring, int bucket) {
    line[0] = (char) ring.previous(bucket);
    since[0] = (int) ring.since(bucket);
    for (int back = 0; back < EarlierMoves.DEPTH; back++) {
      line[back + 1] = (char) ring.earlier().owner(bucket, back);
      since[back + 1] = (int) ring.earlier().since(bucket, back);
    }
    int shift = current[bucket] == ring.current(bucket) ? 0 : 1; // a move puts one in front
    for (int i = shift; i < LINE; i++) {
      int was = bucket * LINE + i - shift;
      if (owners[was] == line[i]) {
        since[i] = left[was];
      }
    }
  }
}
