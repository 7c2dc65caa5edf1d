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
 * becomes 0 (protocol/README.md §4, {@code holdSeconds}). A bucket of which only owners before the
 * previous one have connections names the latest of these instead: the packets need the previous
 * owner's machine no longer, which may be drained for a restart.
 *
 * @param runs at most {@link #RUNS_MAX}; what is left over is for the next release
 * @param byReport how many of the buckets have no connection left at any owner before
 * @param atLimit how many of the others have been held as long as they may be
 * @param skipped how many name an earlier owner from now on
 */
public record Release(Runs runs, int byReport, int atLimit, int skipped) {
  /** Bounds the delta: 786 KB before compression, if no two of the buckets are neighbours. */
  static final int RUNS_MAX = 65_536;

  /** What may be released now. A bucket whose window is open may not, whatever the answers say. */
  public static Release of(ServiceImage image, long now, Answers answers) {
    if (answers.isNone() && Holds.of(image).due(now) == 0) {
      return new Release(Runs.EMPTY, 0, 0, 0);
    }
    Ring ring = image.ring();
    ServiceConfig config = image.config();
    Released released = new Released(ring, RUNS_MAX);
    // A step to an earlier owner begins a window, in which datagrams would go there once more.
    boolean skips = config.ports().stream().allMatch(port -> port.protocol().equals("tcp"));
    int[] counts = new int[3];
    HeldBuckets.visit(
        image,
        now,
        (bucket, owners, count) -> {
          long since = ring.since(bucket);
          long closed = answers.closed(since, config.windowSeconds());
          int free = free(answers, bucket, owners, count, closed);
          boolean isDue = now >= since + config.heldSeconds();
          boolean isSkip = skips && free > 0 && free < count && !isDue;
          if (free < count && !isDue && !isSkip) {
            return true;
          }
          if (!released.add(bucket, isSkip ? owners[free] : Backend.NONE)) {
            return false;
          }
          counts[free == count ? 0 : isDue ? 1 : 2]++;
          return true;
        });
    return new Release(released.runs(), counts[0], counts[1], counts[2]);
  }

  /** How many of the owners, from the latest on, have no connection in the bucket. */
  private static int free(Answers answers, int bucket, int[] owners, int count, long closed) {
    int free = 0;
    while (free < count && answers.isFree(owners[free], bucket, closed)) {
      free++;
    }
    return free;
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
        released.add(bucket, Backend.NONE);
      }
    }
    return released.runs();
  }

  /**
   * What another window or limit means for the buckets of {@code image}. Datagrams are chained for
   * the window alone, so it may become shorter for them although the hold goes on.
   */
  public static Result.Hold ofChange(ServiceImage image, ServiceConfig changed, long now) {
    Ring ring = image.ring();
    ServiceConfig config = image.config();
    boolean cutsWindow = cutsWindow(config, changed);
    int held = 0;
    int shortened = 0;
    int released = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.isMoved(bucket, now, config.chainedSeconds())) {
        long since = ring.since(bucket);
        boolean endsWindow =
            cutsWindow
                && now < since + config.windowSeconds()
                && now >= since + changed.windowSeconds();
        held++;
        shortened += now < since + shortenedSeconds(config, changed) ? 1 : 0;
        released += endsWindow || now >= since + changed.heldSeconds() ? 1 : 0;
      }
    }
    return new Result.Hold(held, shortened, released);
  }

  /**
   * Until the last of the chains that would be shorter has lasted as long as it may; 0: there is
   * none.
   */
  public static long secondsLeft(ServiceImage image, ServiceConfig changed, long now) {
    Ring ring = image.ring();
    int seconds = shortenedSeconds(image.config(), changed);
    long left = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.isMoved(bucket, now, image.config().chainedSeconds())) {
        left = Math.max(left, ring.since(bucket) + seconds - now);
      }
    }
    return left;
  }

  /** How long after a move a chain is open that the change makes shorter; 0: it makes none so. */
  private static int shortenedSeconds(ServiceConfig config, ServiceConfig changed) {
    if (changed.heldSeconds() < config.heldSeconds()) {
      return config.heldSeconds();
    }
    return cutsWindow(config, changed) ? config.windowSeconds() : 0;
  }

  private static boolean cutsWindow(ServiceConfig config, ServiceConfig changed) {
    return config.chainsDatagrams() && changed.windowSeconds() < config.windowSeconds();
  }

  /** Collects buckets by ascending number. */
  private static final class Released {
    private final Ring ring;
    private final int most;
    private final Runs.Builder runs = new Runs.Builder();
    private int size;
    private int last = -1;
    private int lastPrevious;

    Released(Ring ring, int most) {
      this.ring = ring;
      this.most = most;
    }

    /** Whether there was room for it. */
    boolean add(int bucket, int previous) {
      boolean isNext =
          size > 0
              && last == bucket - 1
              && lastPrevious == previous
              && ring.current(last) == ring.current(bucket);
      if (!isNext && size == most) {
        return false;
      }
      size += isNext ? 0 : 1;
      runs.add(bucket, 1, ring.current(bucket), previous);
      last = bucket;
      lastPrevious = previous;
      return true;
    }

    Runs runs() {
      return runs.build();
    }
  }
}
