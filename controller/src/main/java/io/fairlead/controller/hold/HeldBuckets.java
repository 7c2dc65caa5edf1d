// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.EarlierMoves;
import io.fairlead.controller.ring.Ring;
import java.util.Arrays;

/**
 * The held buckets of an image, by ascending number: those that name a previous owner and whose
 * window is over. Each with all owners that its packets are chained to: the previous one, and those
 * before it that are remembered.
 */
final class HeldBuckets {
  /** The previous owner and those of the earlier moves. */
  static final int OWNERS_MAX = 1 + EarlierMoves.DEPTH;

  interface Visitor {
    /**
     * @param owners valid during the call
     * @param count how many there are, at least 1
     * @return whether to go on
     */
    boolean visit(int bucket, int[] owners, int count);
  }

  private HeldBuckets() {}

  /** The owners that the packets of one bucket are chained to. */
  static int[] owners(Ring ring, int bucket) {
    int[] owners = new int[OWNERS_MAX];
    owners[0] = ring.previous(bucket);
    int count = 1;
    for (int back = 0; back < EarlierMoves.DEPTH; back++) {
      count = add(owners, count, ring.earlier().owner(bucket, back), ring.current(bucket));
    }
    return Arrays.copyOf(owners, count);
  }

  private static int add(int[] owners, int count, int owner, int current) {
    if (owner == Backend.NONE || owner == current || owner == owners[0]) {
      return count;
    }
    owners[count] = owner;
    return count + 1;
  }

  static void visit(ServiceImage image, long now, Visitor visitor) {
    ServiceConfig config = image.config();
    if (config.holdSeconds() == 0) {
      return;
    }
    Ring ring = image.ring();
    EarlierMoves earlier = ring.earlier();
    int[] owners = new int[OWNERS_MAX];
    int entry = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.previous(bucket) == Backend.NONE
          || now < ring.since(bucket) + config.windowSeconds()) {
        continue;
      }
      while (entry < earlier.size() && earlier.bucketAt(entry) < bucket) {
        entry++;
      }
      boolean hasEarlier = entry < earlier.size() && earlier.bucketAt(entry) == bucket;
      int count = 1;
      owners[0] = ring.previous(bucket);
      for (int back = 0; hasEarlier && back < EarlierMoves.DEPTH; back++) {
        count = add(owners, count, earlier.ownerAt(entry, back), ring.current(bucket));
      }
      if (!visitor.visit(bucket, owners, count)) {
        return;
      }
    }
  }
}
