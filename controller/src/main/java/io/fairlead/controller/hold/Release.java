// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.ring.Runs;

/**
 * Buckets that lose their previous owner and move nowhere: {@code current} stays, {@code previous}
 * becomes 0 (protocol/README.md §4, {@code holdSeconds}).
 *
 * @param runs at most {@link #RUNS_MAX}; what is left over is for the next release
 * @param atLimit how many of the buckets have been held as long as they may be
 */
public record Release(Runs runs, int atLimit) {
  /** Bounds the delta: 786 KB before compression, if no two of the buckets are neighbours. */
  static final int RUNS_MAX = 65_536;

  private interface Released {
    boolean test(int bucket);
  }

  /** Those that are over the limit. */
  public static Release due(ServiceImage image, long now) {
    Ring ring = image.ring();
    ServiceConfig config = image.config();
    Runs runs = runs(ring, RUNS_MAX, bucket -> now >= ring.since(bucket) + config.heldSeconds());
    return new Release(runs, runs.buckets());
  }

  /**
   * What has to be released before a hold begins: whose window is closed. Their previous owners are
   * not reserved any more, and muxes with a hold would name them.
   */
  public static Runs beforeHold(ServiceImage image, long now) {
    Ring ring = image.ring();
    int window = image.config().windowSeconds();
    return runs(ring, Integer.MAX_VALUE, bucket -> !ring.isMoved(bucket, now, window));
  }

  /** What another limit, or none, means for the buckets of {@code image}. */
  public static Result.Hold ofChange(ServiceImage image, ServiceConfig changed, long now) {
    Ring ring = image.ring();
    int held = 0;
    int released = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.isMoved(bucket, now, image.config().chainedSeconds())) {
        held++;
        released += now >= ring.since(bucket) + changed.heldSeconds() ? 1 : 0;
      }
    }
    return new Result.Hold(held, released);
  }

  private static Runs runs(Ring ring, int most, Released released) {
    Runs.Builder runs = new Runs.Builder();
    int size = 0;
    int lastBucket = -1;
    int lastOwner = Backend.NONE;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.previous(bucket) == Backend.NONE || !released.test(bucket)) {
        continue;
      }
      int owner = ring.current(bucket);
      if (size == 0 || lastBucket != bucket - 1 || lastOwner != owner) {
        if (size == most) {
          break;
        }
        size++;
      }
      runs.add(bucket, 1, owner, Backend.NONE);
      lastBucket = bucket;
      lastOwner = owner;
    }
    return runs.build();
  }
}
