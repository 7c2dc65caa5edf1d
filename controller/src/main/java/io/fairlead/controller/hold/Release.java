// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import io.fairlead.controller.hold.Questions.Answers;
import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.History;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.ring.Runs;

/**
 * Former owners of held buckets that are not named any more (protocol/README.md §4, {@code
 * holdSeconds}): all of a bucket, or the newest of those of which only older ones have connections.
 * Packets then need its machine no longer, which may be drained for a restart. An older one is
 * never released before a newer one, as packets of version 1 reach it by that one.
 *
 * @param runs at most {@link #RUNS_MAX}; what is left over is for the next release
 * @param byReport how many of the buckets have no connection left at any owner before
 * @param atLimit how many of the others have been held as long as they may be
 * @param skipped how many name only older owners from now on
 */
public record Release(Runs runs, int byReport, int atLimit, int skipped) {
  /** Bounds the delta: 786 KB before compression, if no two of the buckets are neighbours. */
  static final int RUNS_MAX = 65_536;

  /** What may be released now. A bucket whose window is open may not, whatever the answers say. */
  public static Release of(ServiceImage image, long now, Answers answers) {
    if (answers.isNone() && Holds.of(image).due(now) == 0) {
      return new Release(Runs.EMPTY, 0, 0, 0);
    }
    ServiceConfig config = image.config();
    Runs.Builder runs = new Runs.Builder();
    int[] counts = new int[3];
    HeldBuckets.visit(
        image,
        now,
        (bucket, owners) -> {
          long since = owners.since(0);
          long closed = answers.closed(since, config.windowSeconds());
          int free = free(answers, bucket, owners, closed);
          boolean isFree = free == owners.size();
          boolean isDue = now >= since + config.heldSeconds();
          if (free == 0 && !isDue) {
            return true;
          }
          runs.add(bucket, 1, isFree || isDue ? Backend.NONE : owners.owner(0));
          counts[isFree ? 0 : isDue ? 1 : 2]++;
          return runs.size() < RUNS_MAX;
        });
    return new Release(runs.build(), counts[0], counts[1], counts[2]);
  }

  /** How many of the owners, from the newest on, have no connection in the bucket. */
  private static int free(Answers answers, int bucket, History owners, long closed) {
    int free = 0;
    while (free < owners.size() && answers.isFree(owners.owner(free), bucket, closed)) {
      free++;
    }
    return free;
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
}
