// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import java.time.Instant;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Full buckets of one plan ({@link FormerOwners}), which lose an owner by moving: whether they may,
 * must not, or wait until they are full no more. Those that wait stay with their owner, and a
 * rebalance, which moves no full bucket, moves them later; it is in ZooKeeper, so that the next
 * leader does.
 */
final class Losses {
  private static final int LISTED = 8;

  private final ServiceImage before;
  private final SortedMap<Integer, Member> pool;
  private final Set<Integer> dead;
  private final Ring ring;
  private final FormerOwners formers;
  private final Instant now;
  private int waiting;

  /**
   * @param pool afterwards
   * @param dead backends that are gone
   */
  Losses(ServiceImage before, SortedMap<Integer, Member> pool, Set<Integer> dead, Instant now) {
    this.before = before;
    this.pool = pool;
    this.dead = dead;
    this.now = now;
    ring = before.ring().without(dead);
    formers = before.formerOwners(now, pool);
  }

  /** What the plan starts from: the dead own nothing, and are no former owners. */
  Ring ring() {
    return ring;
  }

  /** Which former owners count. */
  FormerOwners formers() {
    return formers;
  }

  /** Backends that are gone. */
  Set<Integer> dead() {
    return dead;
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
   * Those of {@code wanted} that the options allow. A full bucket whose owner has no weight goes to
   * one of its former owners that has one, if there is any.
   *
   * @throws Refusal if the write needs consent
   */
  Runs allowed(Runs wanted, WriteOptions options) {
    OnLoss onLoss = options.onLoss();
    if (onLoss == OnLoss.FORCE) {
      return wanted;
    }
    boolean isFree =
        before.config().assignment() == AssignmentMethod.BEAMER || onLoss == OnLoss.KEEP;
    Runs chosen = isFree ? homed(wanted) : wanted;
    int lost = count(chosen);
    if (lost == 0) {
      return chosen;
    }
    if (onLoss == OnLoss.WAIT || onLoss == OnLoss.KEEP) {
      if (onLoss == OnLoss.WAIT) {
        checkWait();
      }
      Runs kept = without(chosen);
      waiting = lost;
      return kept;
    }
    if (!options.dryRun()) {
      throw Refusal.conflict(
          "force",
          false,
          ("true: %d buckets (%s) %s, whose connections break; or whenSafe=true: they wait; or"
                  + " this change%s")
              .formatted(lost, listed(chosen), why(chosen), whenItMay(chosen)));
    }
    return chosen;
  }

  private Runs homed(Runs wanted) {
    char[] next = null;
    int[] have = null;
    for (int run = 0; run < wanted.size(); run++) {
      for (int bucket = wanted.start(run); bucket < wanted.end(run); bucket++) {
        if (weight(ring.current(bucket)) == 0 && isLost(wanted, run, bucket)) {
          if (next == null) {
            next = wanted.owners(before.ring());
            have = owned(next);
          }
          int home = home(bucket, have);
          if (home != Backend.NONE) {
            have[next[bucket]]--;
            have[home]++;
            next[bucket] = (char) home;
          }
        }
      }
    }
    return next == null ? wanted : Runs.between(before.ring(), next);
  }

  private static int[] owned(char[] owners) {
    int[] owned = new int[Backend.MAX + 1];
    for (char owner : owners) {
      owned[owner]++;
    }
    return owned;
  }

  /** The bucket's former owner with the fewest buckets for its weight, 0 if none has a weight. */
  private int home(int bucket, int[] have) {
    int best = Backend.NONE;
    for (int i = 0; i < formers.open(ring, bucket); i++) {
      int owner = ring.history(bucket).owner(i);
      if (weight(owner) > 0
          && !formers.overflows(ring, bucket, owner)
          && (best == Backend.NONE
              || (long) have[owner] * weight(best) < (long) have[best] * weight(owner))) {
        best = owner;
      }
    }
    return best;
  }

  private int weight(int id) {
    Member member = pool.get(id);
    return member == null ? 0 : member.weight();
  }

  /** The image with the job that moves what waits. */
  ServiceImage withJob(ServiceImage image, Runs runs) {
    UpkeepState job =
        UpkeepState.builder(Kind.REBALANCE, now)
            .limits(1, Ring.BUCKETS_MAX)
            .costs(image.upkeep().map(UpkeepState::costs).orElseGet(TreeMap::new))
            .build()
            .after(now, runs.buckets(), waiting, false);
    return image.withUpkeep(job);
  }

  private boolean isLost(Runs runs, int run, int bucket) {
    return formers.overflows(ring, bucket, runs.owner(run));
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

  /** The first ranges of those that are lost. */
  private String listed(Runs wanted) {
    StringBuilder text = new StringBuilder();
    int ranges = 0;
    int last = -1;
    int start = -1;
    for (int run = 0; run < wanted.size() && ranges <= LISTED; run++) {
      for (int bucket = wanted.start(run); bucket < wanted.end(run) && ranges <= LISTED; bucket++) {
        if (isLost(wanted, run, bucket)) {
          if (bucket != last + 1 || start < 0) {
            append(text, start, last);
            start = bucket;
            ranges++;
          }
          last = bucket;
        }
      }
    }
    if (ranges > LISTED) {
      return text.append(" and more").toString();
    }
    append(text, start, last);
    return text.toString();
  }

  private static void append(StringBuilder text, int start, int last) {
    if (start >= 0) {
      text.append(text.length() == 0 ? "" : ", ").append(start);
      text.append(last > start ? "-" + last : "");
    }
  }

  private String why(Runs wanted) {
    return isToForeign(wanted)
        ? "lose their owners by moving to a foreign end-point"
        : "have %d former owners, as many as packets name: they lose the oldest"
            .formatted(before.config().formerOwnersMax());
  }

  private boolean isToForeign(Runs wanted) {
    return IntStream.range(0, wanted.size())
        .anyMatch(run -> formers.foreign().contains(wanted.owner(run)));
  }

  /** When all have room. With arrays that is not known; with a hold, they are released by then. */
  private String whenItMay(Runs wanted) {
    if (isToForeign(wanted)) {
      return " without it";
    }
    if (before.config().releasesOwners() && before.config().holdSeconds() == 0) {
      return " once some are released";
    }
    long seconds = 1;
    for (int run = 0; run < wanted.size(); run++) {
      for (int bucket = wanted.start(run); bucket < wanted.end(run); bucket++) {
        if (isLost(wanted, run, bucket)) {
          int kept = before.config().heldSeconds();
          seconds = Math.max(seconds, formers.secondsLeft(ring, bucket, kept));
        }
      }
    }
    return " in %d s%s"
        .formatted(seconds, before.config().holdSeconds() > 0 ? " at most: they are held" : "");
  }
}
