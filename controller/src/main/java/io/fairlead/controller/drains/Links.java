// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.drains;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.EarlierMoves;
import io.fairlead.controller.ring.Ring;

/**
 * Backends by which packets reach an owner before them. A bucket moved from A to B and on to C: the
 * ring names B, and B passes A's packets on. So B's machine has to run although B has no connection
 * left, until the window is over, or with a hold until the ring names A.
 */
final class Links {
  private Links() {}

  /**
   * The number of buckets whose packets a backend passes on to an owner before it.
   *
   * @param now Unix seconds
   */
  static int count(ServiceImage image, int backend, long now) {
    Ring ring = image.ring();
    EarlierMoves earlier = ring.earlier();
    int chained = image.config().chainedSeconds();
    int count = 0;
    for (int entry = 0; entry < earlier.size(); entry++) {
      int bucket = earlier.bucketAt(entry);
      if (!ring.isMoved(bucket, now, chained)) {
        continue;
      }
      int owner = ring.previous(bucket);
      for (int back = 0; back < EarlierMoves.DEPTH; back++) {
        int before = earlier.ownerAt(entry, back);
        if (before == Backend.NONE || now >= earlier.since(bucket, back) + chained) {
          break;
        }
        if (owner == backend && before != backend && before != ring.current(bucket)) {
          count++;
          break;
        }
        owner = before;
      }
    }
    return count;
  }
}
