// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.assign.Assignment;
import io.fairlead.controller.backends.Change;
import io.fairlead.controller.backends.PoolRules;
import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.image.ServiceImage.Member;
import io.fairlead.controller.plane.Move;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.Share;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Delta;
import io.fairlead.controller.ring.RefusedException;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.ring.Runs;
import io.fairlead.controller.word.AssignmentMethod;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The effect of a list of changes on a service: the next image, the delta that leads there, and the
 * result for the caller. A dry run stops here; a commit writes exactly this.
 */
record PoolPlan(ServiceImage after, Delta delta, Result result) {
  /** A large change has millions, too many for an answer. */
  private static final int MOVES_LISTED = 4096;

  /**
   * Every accepted list is one generation, even if no bucket moves, so that callers that wait for
   * their generation see it.
   *
   * @param now Unix seconds; time never goes back from one generation to the next
   * @throws Refusal if a change is not allowed
   */
  static PoolPlan of(ServiceImage before, List<Change> changes, long now, boolean dryRun) {
    long committed = Math.max(now, before.ring().committed());
    PoolPlan plan =
        sharedOut(before, PoolRules.change(before, changes, committed), committed, dryRun);
    boolean isCreating =
        changes.stream()
            .anyMatch(
                change -> change instanceof Change.Put && !before.pool().containsKey(change.id()));
    return isCreating ? new PoolPlan(plan.after(), plan.delta(), plan.result().asCreated()) : plan;
  }

  /** The same pool, with its buckets assigned as the configuration of {@code before} says. */
  static PoolPlan of(ServiceImage before, long now, boolean dryRun) {
    return sharedOut(before, before.pool(), Math.max(now, before.ring().committed()), dryRun);
  }

  /** Whether there is nothing to do: no backend changes, and no bucket moves. */
  boolean isEmpty() {
    return delta.backends().isEmpty() && delta.runs().size() == 0;
  }

  /** The same pool with these buckets moved. */
  static PoolPlan of(ServiceImage before, Runs runs, long committed, boolean dryRun) {
    return of(before, before.pool(), runs, committed, dryRun);
  }

  private static PoolPlan sharedOut(
      ServiceImage before, SortedMap<Integer, Member> pool, long committed, boolean dryRun) {
    ServiceConfig config = before.config();
    Runs runs =
        Assignment.of(config.assignment())
            .assign(before.ring(), weights(before, pool), committed, config.windowSeconds());
    return of(before, pool, runs, committed, dryRun);
  }

  /** Beamer's method also uses what buckets cost; the others use weights alone. */
  private static int[] weights(ServiceImage before, SortedMap<Integer, Member> pool) {
    int[] weights = ServiceImage.weights(pool);
    return before.config().assignment() == AssignmentMethod.BEAMER
        ? before
            .upkeep()
            .map(state -> state.within(pool.keySet()).corrected(weights))
            .orElse(weights)
        : weights;
  }

  private static PoolPlan of(
      ServiceImage before,
      SortedMap<Integer, Member> pool,
      Runs runs,
      long committed,
      boolean dryRun) {
    Ring ring = before.ring();
    Delta delta =
        new Delta(
            ring.service(),
            ring.generation() + 1,
            ring.buckets(),
            committed,
            changedBackends(before.pool(), pool),
            runs);
    Ring next;
    try {
      next = ring.apply(delta);
    } catch (RefusedException e) {
      throw new IllegalStateException(
          "%s: generation %d does not follow".formatted(ring, delta.generation()), e);
    }
    ServiceImage after = before.withRing(next);
    return new PoolPlan(after, delta, result(before, after, runs, committed, dryRun));
  }

  private static List<Backend> changedBackends(
      SortedMap<Integer, Member> before, SortedMap<Integer, Member> after) {
    SortedMap<Integer, Backend> changed = new TreeMap<>();
    for (Member member : before.values()) {
      if (!after.containsKey(member.id())) {
        changed.put(member.id(), new Backend(member.id(), member.address(), 0, true));
      }
    }
    for (Member member : after.values()) {
      if (!member.equals(before.get(member.id()))) {
        changed.put(
            member.id(), new Backend(member.id(), member.address(), member.weight(), false));
      }
    }
    return List.copyOf(changed.values());
  }

  private static Result result(
      ServiceImage before, ServiceImage after, Runs runs, long now, boolean dryRun) {
    List<Move> moves = new ArrayList<>(Math.min(runs.size(), MOVES_LISTED));
    int stillChained = 0;
    int returned = 0;
    int window = before.config().windowSeconds();
    for (int run = 0; run < runs.size(); run++) {
      int start = runs.start(run);
      if (run < MOVES_LISTED) {
        moves.add(new Move(start, runs.count(run), runs.previous(run), runs.current(run)));
      }
      for (int bucket = start; bucket < start + runs.count(run); bucket++) {
        if (before.ring().isMoved(bucket, now, window)) {
          stillChained++;
          returned += before.ring().isReturn(bucket, runs.current(run), now, window) ? 1 : 0;
        }
      }
    }
    return Result.unchanged(after.config().name(), after.ring().generation(), dryRun)
        .with(
            new Result.Moved(runs.buckets(), stillChained, returned, moves), shares(before, after));
  }

  /** The shares of all backends whose weight or number of buckets changes, by ascending id. */
  private static List<Share> shares(ServiceImage before, ServiceImage after) {
    int[] ownedBefore = before.ring().owned();
    int[] ownedAfter = after.ring().owned();
    int[] weightsBefore = ServiceImage.weights(before.pool());
    int[] weightsAfter = ServiceImage.weights(after.pool());
    List<Share> shares = new ArrayList<>();
    for (int id = 1; id <= Backend.MAX; id++) {
      boolean isKnown = before.pool().containsKey(id) || after.pool().containsKey(id);
      boolean isSame =
          ownedBefore[id] == ownedAfter[id]
              && weightsBefore[id] == weightsAfter[id]
              && before.pool().containsKey(id) == after.pool().containsKey(id);
      if (isKnown && !isSame) {
        shares.add(new Share(id, weightsAfter[id], ownedBefore[id], ownedAfter[id]));
      }
    }
    return shares;
  }
}
