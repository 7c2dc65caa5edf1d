// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import io.fairlead.controller.hold.Questions.Answers;
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
 * @param byReport how many of the buckets have no connection left at any owner before
 * @param atLimit how many of the others have been held as long as they may be
 */
public record Release(Runs runs, int byReport, int atLimit) {
  /** Bounds the delta: 786 KB before compression, if no two of the buckets are neighbours. */
  static final int RUNS_MAX = 65_536;

  /** What may be released now. A bucket whose window is open may not, whatever the answers say. */
  public static Release of(ServiceImage image, long now, Answers answers) {
    if (answers.isNone() && Holds.of(image).due(now) == 0) {
      return new Release(Runs.EMPTY, 0, 0);
    }
    Ring ring = image.ring();
    ServiceConfig config = image.config();
    Released released = new Released(ring, RUNS_MAX);
    int[] counts = new int[2];
    HeldBuckets.visit(
        image,
        now,
        (bucket, owners, count) -> {
          long since = ring.since(bucket);
          boolean isFree = isFree(answers, bucket, owners, count, since + config.windowSeconds());
          if (!isFree && now < since + config.heldSeconds()) {
            return true;
          }
          if (!released.add(bucket)) {
            return false;
          }
          counts[isFree ? 0 : 1]++;
          return true;
        });
    return new Release(released.runs(), counts[0], counts[1]);
  }

  private static boolean isFree(Answers answers, int bucket, int[] owners, int count, long closed) {
    for (int i = 0; i < count; i++) {
      if (!answers.isFree(owners[i], bucket, closed)) {
        return false;
      }
    }
    return true;
  }

  /**
   * What has to be released before a hold begins: whose window is closed. Their previous owners are
   * not reserved any more, and muxes with a hold would name them.
   */
  public static Runs beforeHold(ServiceImage image, long now) {
    Ring ring = image.ring();
    int window = image.config().windowSeconds();
    Released released = new Released(ring, Integer.MAX_VALUE);
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.previous(bucket) != Backend.NONE && !ring.isMoved(bucket, now, window)) {
        released.add(bucket);
      }
    }
    return released.runs();
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

  /** Collects buckets by ascending number. */
  private static final class Released {
    private final Ring ring;
    private final int most;
    private final Runs.Builder runs = new Runs.Builder();
    private int size;
    private int last = -1;

    Released(Ring ring, int most) {
      this.ring = ring;
      this.most = most;
    }

    /** Whether there was room for it. */
    boolean add(int bucket) {
      boolean isNext = size > 0 && last == bucket - 1 && ring.current(last) == ring.current(bucket);
      if (!isNext && size == most) {
        return false;
      }
      size += isNext ? 0 : 1;
      runs.add(bucket, 1, ring.current(bucket), Backend.NONE);
      last = bucket;
      return true;
    }

    Runs runs() {
      return runs.build();
    }
  }
}
