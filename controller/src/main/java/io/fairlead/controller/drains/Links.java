// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.drains;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.History;
import io.fairlead.controller.ring.Ring;

/**
 * Backends by which packets reach an owner before them. A bucket moved from A to B and on to C:
 * packets name B, and B passes A's packets on. So B's machine has to run although B has no
 * connection left, until A's window is over, or with a hold until B is released and packets name A.
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
    int chained = image.config().chainedSeconds();
    int count = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      History history = ring.history(bucket);
      int place = history.indexOf(backend);
      count += place >= 0 && place + 1 < history.open(now, chained) ? 1 : 0;
    }
    return count;
  }
}
