// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import java.time.Instant;

/**
 * Backends that packets may still be chained to, so that their ids and addresses are taken, and for
 * how long at most: those that a history names. Without a hold an entry counts for a window, and a
 * change of backends ends those whose window is over ({@link ServiceConfig#closedUntil}).
 */
public final class Reserved {
  /** Unix seconds by the ids of the ring, 0 for those that are free. */
  private final long[] until;

  private final Instant now;

  public Reserved(ServiceImage image, Instant now) {
    this.now = now;
    long second = now.getEpochSecond();
    Ring ring = image.ring();
    until = new long[ring.ids()];
    ServiceConfig config = image.config();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      History history = ring.history(bucket);
      int open = history.open(second, config.chainedSeconds());
      for (int i = 0; i < open; i++) {
        long end = Math.max(history.since(i) + config.heldSeconds(), second + 1); // or later
        until[history.owner(i)] = Math.max(until[history.owner(i)], end);
      }
    }
  }

  boolean has(int id) {
    return id < until.length && until[id] > 0;
  }

  /** Seconds for which packets may still be chained to the backend, 0 if they are not. */
  public long secondsLeft(int id) {
    return has(id) ? until[id] - now.getEpochSecond() : 0;
  }
}
