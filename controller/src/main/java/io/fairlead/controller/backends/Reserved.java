// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.backends;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.EarlierMoves;
import io.fairlead.controller.ring.Ring;

/**
 * Backends that packets may still be chained to, so that their ids and addresses are taken, and for
 * how long at most. Without a hold that is a window from each move of a bucket. With one it is as
 * long as a bucket's row names them, or its current and previous owner lead to them.
 */
public final class Reserved {
  /** Unix seconds by id, 0 for those that are free. */
  private final long[] until = new long[Backend.MAX + 1];

  private final long now;

  /**
   * @param now Unix seconds
   */
  public Reserved(ServiceImage image, long now) {
    this.now = now;
    Ring ring = image.ring();
    ServiceConfig config = image.config();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.isMoved(bucket, now, config.chainedSeconds())) {
        name(ring.previous(bucket), ring.since(bucket) + config.heldSeconds());
      }
    }
    if (config.holdSeconds() > 0) {
      EarlierMoves earlier = ring.earlier();
      for (int entry = 0; entry < earlier.size(); entry++) {
        long end = ring.since(earlier.bucketAt(entry)) + config.heldSeconds();
        for (int back = 0; back < EarlierMoves.DEPTH; back++) {
          name(earlier.ownerAt(entry, back), end);
        }
      }
    }
    until[Backend.NONE] = 0;
  }

  /** A release may be late: what is named is taken. */
  private void name(int id, long end) {
    until[id] = Math.max(until[id], Math.max(end, now + 1));
  }

  boolean has(int id) {
    return until[id] > 0;
  }

  /** Unix seconds until which packets may be chained to the backend, 0 if they are not. */
  long until(int id) {
    return until[id];
  }

  /** Seconds for which packets may still be chained to the backend, 0 if they are not. */
  public long secondsLeft(int id) {
    return until[id] == 0 ? 0 : until[id] - now;
  }
}
