// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.History;
import io.fairlead.controller.ring.Ring;

/**
 * The held buckets of an image, by ascending number: those that have former owners and whose window
 * is over.
 */
final class HeldBuckets {
  interface Visitor {
    /**
     * @param owners at least one
     * @return whether to go on
     */
    boolean visit(int bucket, History owners);
  }

  private HeldBuckets() {}

  static void visit(ServiceImage image, long now, Visitor visitor) {
    ServiceConfig config = image.config();
    if (config.holdSeconds() == 0) {
      return;
    }
    Ring ring = image.ring();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      History owners = ring.history(bucket);
      if (owners.size() > 0
          && now >= owners.since(0) + config.windowSeconds()
          && !visitor.visit(bucket, owners)) {
        return;
      }
    }
  }
}
