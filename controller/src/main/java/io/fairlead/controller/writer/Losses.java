// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.image.ServiceImage.Member;
import io.fairlead.controller.image.UpkeepState;
import io.fairlead.controller.image.UpkeepState.Kind;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.plane.WriteOptions.OnLoss;
import io.fairlead.controller.ring.Chains;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.ring.Runs;
import io.fairlead.controller.word.AssignmentMethod;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Buckets of one plan that lose an owner by moving ({@link Chains}): whether they may, must not, or
 * wait until their window is over. Those that wait stay with their owner, and a rebalance, which
 * moves nothing inside its window, moves them one window later; it is in ZooKeeper, so that the
 * next leader does.
 */
final class Losses {
  private final ServiceImage before;
  private final SortedMap<Integer, Member> pool;
  private final Set<Integer> dead;
  private final long now;
  private final Chains chains;
  private int waiting;

  /**
   * @param pool afterwards
   * @param dead backends that are gone
   * @param now Unix seconds
   */
  Losses(ServiceImage before, SortedMap<Integer, Member> pool, Set<Integer> dead, long now) {
    this.before = before;
    this.pool = pool;
    this.dead = dead;
    this.now = now;
    chains = new Chains(before.ring(), dead, now, before.config().chainedSeconds());
  }

  /** Backends that are gone. */
  Set<Integer> dead() {
    return dead;
  }

  boolean isDead(int id) {
    return dead.contains(id);
  }

  /** How many buckets stay that would have lost an owner. */
  int waiting() {
    return waiting;
  }

  /** How many buckets lose an owner by these runs. */
  int count(Runs runs) {
    int lost = 0;
    for (int run = 0; run < runs.size(); run++) {
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        lost += isLost(runs, run, bucket) ? 1 : 0;
      }
    }
    return lost;
  }

  /**
   * Those of {@code wanted} that the options allow.
   *
   * @throws Refusal if the write needs consent
   */
  Runs allowed(Runs wanted, WriteOptions options) {
    int lost = options.onLoss() == OnLoss.FORCE ? 0 : count(wanted);
    if (lost == 0) {
      return wanted;
    }
    if (options.onLoss() == OnLoss.WAIT || options.onLoss() == OnLoss.KEEP) {
      if (options.onLoss() == OnLoss.WAIT) {
        checkWait();
      }
      Runs kept = without(wanted);
      waiting = lost;
      return kept;
    }
    if (!options.dryRun()) {
      throw Refusal.conflict(
          "force",
          false,
          ("true: %d buckets move a fourth time within their window, or back, and lose an owner,"
               + " whose connections break; or whenSafe=true: they wait; or this change in %d s%s")
              .formatted(lost, secondsLeft(wanted), isHeld() ? " at most: they are held" : ""));
    }
    return wanted;
  }

  /** The image with the job that moves what waits. */
  ServiceImage withJob(ServiceImage image, Runs runs) {
    UpkeepState job =
        UpkeepState.builder(Kind.REBALANCE, now)
            .limits(1, Ring.BUCKETS_MAX, false)
            .costs(image.upkeep().map(UpkeepState::costs).orElseGet(TreeMap::new))
            .build()
            .after(now, runs.buckets(), waiting, false);
    return image.withUpkeep(job);
  }

  private boolean isLost(Runs runs, int run, int bucket) {
    return before.ring().current(bucket) != runs.owner(run)
        && chains.loses(bucket, runs.owner(run));
  }

  private void checkWait() {
    if (before.config().assignment() != AssignmentMethod.BEAMER) {
      throw Refusal.conflict(
          "whenSafe",
          true,
          "false with assignment %s, which decides alone who owns which bucket"
              .formatted(before.config().assignment()));
    }
    before
        .upkeep()
        .filter(UpkeepState::isRunning)
        .ifPresent(
            running -> {
              throw Refusal.conflict(
                  "whenSafe",
                  true,
                  "false while a %s runs: wait for its end, or stop it".formatted(running.kind()));
            });
  }

  private Runs without(Runs wanted) {
    Ring ring = before.ring();
    Runs.Builder kept = new Runs.Builder();
    for (int run = 0; run < wanted.size(); run++) {
      for (int bucket = wanted.start(run); bucket < wanted.end(run); bucket++) {
        if (!isLost(wanted, run, bucket)) {
          kept.add(bucket, 1, wanted.owner(run));
        } else if (!pool.containsKey(ring.current(bucket))) {
          throw Refusal.conflict(
              "whenSafe",
              true,
              "a change that keeps backend %d: its buckets have to wait; drain it (weight 0) now"
                      .formatted(ring.current(bucket))
                  + " and remove it when they have moved");
        }
      }
    }
    return kept.build();
  }

  private boolean isHeld() {
    return before.config().holdSeconds() > 0;
  }

  /**
   * Until the first of the moves that these buckets had is over, for all of them; with a hold,
   * until they are released at the latest.
   */
  private long secondsLeft(Runs wanted) {
    long seconds = 0;
    for (int run = 0; run < wanted.size(); run++) {
      for (int bucket = wanted.start(run); bucket < wanted.end(run); bucket++) {
        if (isLost(wanted, run, bucket)) {
          long left = isHeld() ? heldFor(bucket) : chains.secondsLeft(bucket);
          seconds = Math.max(seconds, left);
        }
      }
    }
    return seconds;
  }

  private long heldFor(int bucket) {
    return Math.max(1, before.ring().since(bucket) + before.config().heldSeconds() - now);
  }
}
