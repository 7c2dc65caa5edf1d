// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.resources.hold.Questions.Answers;
import io.fairlead.controller.resources.hold.Questions.Free;
import io.fairlead.controller.resources.plane.Result;
import java.time.Instant;

/**
 * Former owners that buckets do not name any more, with a hold (protocol/README.md §4, {@code
 * holdSeconds}): those that have no connection in them, and those that have been named as long as
 * they may be. A generation releases all of a bucket, or one: then the newest of these.
 *
 * @param runs at most {@link #RUNS_MAX}; what is left over is for the next release
 * @param byReport how many buckets name none any more, as no connection is left at any
 * @param atLimit how many name none any more, some of which have been named as long as they may be
 * @param single how many others name one less
 */
public record Release(Runs runs, int byReport, int atLimit, int single) {
  /** Bounds the delta: 786 KB before compression, if no two of the buckets are neighbours. */
  static final int RUNS_MAX = 65_536;

  /** What may be released now. */
  public static Release of(ServiceImage image, Instant now, Answers answers) {
    long second = now.getEpochSecond();
    ServiceConfig config = image.config();
    Ring ring = image.ring();
    Free free = answers.free(config);
    Runs.Builder runs = new Runs.Builder();
    int[] counts = new int[3];
    for (int bucket = 0; bucket < ring.buckets() && runs.size() < RUNS_MAX; bucket++) {
      History owners = ring.history(bucket);
      int released = 0;
      int reported = 0;
      int owner = Backend.NONE;
      for (int i = owners.size() - 1; i >= 0 && config.holdSeconds() > 0; i--) {
        boolean isFree = free.test(bucket, owners, i);
        if (isFree || second >= owners.since(i) + config.heldSeconds()) {
          owner = owners.owner(i);
          released++;
          reported += isFree ? 1 : 0;
        }
      }
      if (released > 0) {
        boolean isAll = released == owners.size();
        runs.add(bucket, 1, isAll ? Backend.NONE : owner);
        counts[!isAll ? 2 : reported == released ? 0 : 1]++;
      }
    }
    return new Release(runs.build(), counts[0], counts[1], counts[2]);
  }

  /**
   * What another window or limit means for the buckets of {@code image}: each counts by all of its
   * former owners. No agent counts datagrams: with a shorter window, those of a service that chains
   * them may be released earlier although the hold goes on.
   */
  public static Result.Hold ofChange(ServiceImage image, ServiceConfig changed, Instant now) {
    long second = now.getEpochSecond();
    Ring ring = image.ring();
    ServiceConfig config = image.config();
    boolean cutsWindow = cutsWindow(config, changed);
    int held = 0;
    int shortened = 0;
    int released = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      History owners = ring.history(bucket);
      int open = owners.open(second, config.chainedSeconds());
      boolean isShortened = false;
      boolean isReleased = false;
      for (int i = 0; i < open; i++) {
        long since = owners.since(i);
        boolean endsWindow =
            cutsWindow
                && second < since + config.windowSeconds()
                && second >= since + changed.windowSeconds();
        isShortened |= second < since + shortenedSeconds(config, changed);
        isReleased |= endsWindow || second >= since + changed.heldSeconds();
      }
      held += open > 0 ? 1 : 0;
      shortened += isShortened ? 1 : 0;
      released += isReleased ? 1 : 0;
    }
    return new Result.Hold(held, shortened, released);
  }

  /**
   * Until the last of the chains that would be shorter has lasted as long as it may; 0: there is
   * none.
   */
  public static long secondsLeft(ServiceImage image, ServiceConfig changed, Instant now) {
    long second = now.getEpochSecond();
    Ring ring = image.ring();
    int seconds = shortenedSeconds(image.config(), changed);
    long left = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.isMoved(bucket, second, image.config().chainedSeconds())) {
        left = Math.max(left, ring.since(bucket) + seconds - second);
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
}
