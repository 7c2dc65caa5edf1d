// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import io.fairlead.controller.core.assign.Assignment;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.image.Stage;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.core.image.Unhealthy;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.backends.PoolRules;
import io.fairlead.controller.resources.backends.SlowStartRules;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.drains.DrainRules;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.Staging;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import io.fairlead.controller.resources.stages.StageRules;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * The effect of a list of changes on a service: the next image, the delta that leads there, and the
 * result for the caller. A dry run stops here; a commit writes exactly this.
 */
public record PoolPlan(ServiceImage after, Delta delta, Result result) {
  /**
   * Every accepted list is one generation, even if no bucket moves, so that callers that wait for
   * their generation see it.
   *
   * @param now time never goes back from one generation to the next
   * @throws Refusal if a change is not allowed, or needs a consent that the options don't give
   */
  public static PoolPlan of(
      ServiceImage before, List<Change> changes, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    SortedMap<Integer, Member> pool = PoolRules.change(before, changes, committed);
    Transitions started =
        SlowStartRules.after(before, changes, pool, committed)
            .with(OutageRules.weighed(before, changes, pool, committed));
    Transitions transitions = StageRules.after(before, started, pool, committed, options);
    boolean isEffective = !pool.equals(before.pool()) || !transitions.equals(before.transitions());
    // A write that changes anything also advances all slow starts; one without effect moves no
    // bucket.
    ServiceImage from =
        before.withTransitions(isEffective ? transitions.at(committed) : transitions);
    PoolPlan plan = sharedOut(from, pool, dead(changes), committed, options);
    boolean isCreating =
        changes.stream()
            .anyMatch(
                change -> change instanceof Change.Put && !before.pool().containsKey(change.id()));
    PoolPlan told =
        transitions.stage().equals(before.transitions().stage()) ? plan : plan.tellingStage();
    return isCreating ? new PoolPlan(told.after(), told.delta(), told.result().asCreated()) : told;
  }

  /** The same pool, with its buckets assigned as the configuration of {@code before} says. */
  public static PoolPlan of(ServiceImage before, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    return sharedOut(before, before.pool(), Set.of(), committed, options);
  }

  /** With the connections in the buckets that it moves. */
  public PoolPlan with(ServiceImage before, LiveConnections live) {
    Result.Moved moved = Leavings.with(result.moved(), before, delta, live);
    return new PoolPlan(after, delta, result.with(moved, result.shares()));
  }

  public PoolPlan with(Optional<Result.Hold> hold) {
    return new PoolPlan(after, delta, result.with(hold));
  }

  /** Drains backends, or changes the deadline or end of drains that run. */
  public static PoolPlan drain(
      ServiceImage before, DrainOrder order, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    SortedMap<Integer, Drain> drains = DrainRules.drains(before, order, committed);
    List<Change> changes = DrainRules.changes(before, order.ids());
    return transited(
        before,
        changes,
        state ->
            state
                .draining(drains, committed)
                .with(OutageRules.over(state.health(), order.ids(), committed)),
        committed,
        options);
  }

  /** Keeps health from taking backends out of service, or no longer. */
  public static PoolPlan holdHealth(
      ServiceImage before, List<Integer> ids, boolean isHeld, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    OutageRules.Order back = OutageRules.held(before, ids, isHeld);
    return transited(
        before,
        OutageRules.changes(before, back),
        state ->
            OutageRules.withHolds(
                OutageRules.after(before, state, back, committed), ids, isHeld, committed),
        committed,
        options);
  }

  /** Takes backends out of service, or back into it, by what probes find. */
  public static PoolPlan health(
      ServiceImage before, OutageRules.Order order, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    return transited(
        before,
        OutageRules.changes(before, order),
        state -> OutageRules.after(before, state, order, committed),
        committed,
        options);
  }

  public PoolPlan withDrains(List<Result.Drained> drains) {
    return new PoolPlan(after, delta, result.withDrains(drains));
  }

  /** Gives draining backends their weights back. */
  public static PoolPlan undrain(
      ServiceImage before, List<Integer> ids, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    List<Change> changes = DrainRules.undoing(before, ids);
    return transited(before, changes, state -> state.undrained(ids), committed, options);
  }

  /**
   * Ends drains: each keeps its backend with how it ended, or removes it. One that is empty may be
   * switched off, and its agent with it: so no bucket names it from then on, as packets of other
   * servers' connections would come by it.
   */
  public static PoolPlan ended(
      ServiceImage before, SortedMap<Integer, Drain.End> ends, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    SortedMap<Integer, Drain> kept = new TreeMap<>();
    SortedMap<Integer, Drain> removed = new TreeMap<>();
    List<Change> changes = new ArrayList<>();
    ends.forEach(
        (id, end) -> {
          Drain drain = before.transitions().drains().get(id);
          (drain.then() == Drain.Then.REMOVE ? removed : kept).put(id, drain.ended(end));
          if (drain.then() == Drain.Then.REMOVE) {
            changes.add(new Change.Remove(id, end.reason() == Drain.Reason.DEADLINE));
          }
        });
    PoolPlan plan =
        transited(
            before,
            changes,
            state -> state.draining(kept, committed).removed(removed, committed),
            committed,
            options);
    Set<Integer> empty =
        ends.keySet().stream()
            .filter(id -> ends.get(id).reason() == Drain.Reason.EMPTY)
            .collect(Collectors.toUnmodifiableSet());
    Runs releases = releases(before.ring(), plan.delta().releases(), empty);
    Delta delta = plan.delta().releasing(releases);
    return new PoolPlan(plan.after().withRing(applied(before.ring(), delta)), delta, plan.result());
  }

  /**
   * Releases of these owners from all histories, besides {@code others}. A generation releases all
   * owners of a bucket or one: then the newest of these.
   */
  private static Runs releases(Ring ring, Runs others, Set<Integer> owners) {
    Runs.Builder releases = new Runs.Builder();
    int other = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      while (other < others.size() && others.end(other) <= bucket) {
        other++;
      }
      if (other < others.size() && others.start(other) <= bucket) {
        releases.add(bucket, 1, others.owner(other));
        continue;
      }
      History history = ring.history(bucket);
      int newest = Backend.NONE;
      int found = 0;
      for (int i = history.size() - 1; i >= 0; i--) {
        if (owners.contains(history.owner(i))) {
          newest = history.owner(i);
          found++;
        }
      }
      if (found > 0) {
        releases.add(bucket, 1, found == history.size() ? Backend.NONE : newest);
      }
    }
    return releases.build();
  }

  private static PoolPlan transited(
      ServiceImage before,
      List<Change> changes,
      UnaryOperator<Transitions> change,
      Instant committed,
      WriteOptions options) {
    SortedMap<Integer, Member> pool =
        changes.isEmpty() ? before.pool() : PoolRules.change(before, changes, committed);
    Transitions transitions =
        change.apply(SlowStartRules.after(before, changes, pool, committed)).at(committed);
    return sharedOut(before.withTransitions(transitions), pool, dead(changes), committed, options);
  }

  /** The next step of the staged change, or its end after the last. */
  public static PoolPlan advanced(
      ServiceImage before, String why, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    Stage stage = StageRules.running(before).advanced(committed, why);
    return transited(before, List.of(), state -> state.with(stage, committed), committed, options)
        .tellingStage();
  }

  /** The weights before the staged change. */
  public static PoolPlan rolledBack(
      ServiceImage before, String why, Instant now, WriteOptions options) {
    Instant committed = before.nextCommit(now);
    Stage stage = StageRules.running(before);
    List<Change> changes = StageRules.undoing(stage);
    SortedMap<Integer, Member> pool = PoolRules.change(before, changes, committed);
    Unhealthy health = OutageRules.weighed(before, changes, pool, committed);
    Transitions transitions =
        before
            .transitions()
            .draining(StageRules.drains(before, stage, committed), committed)
            .with(health)
            .with(stage.ended(Stage.Outcome.ROLLED_BACK, committed, why), committed)
            .at(committed);
    return sharedOut(before.withTransitions(transitions), pool, Set.of(), committed, options)
        .tellingStage();
  }

  /** With the staged change in the result, also if it has ended. */
  private PoolPlan tellingStage() {
    Optional<Staging> staging = after.transitions().stage().map(Staging::of);
    return new PoolPlan(after, delta, result.withStaging(staging));
  }

  /** The next step of all slow starts; buckets that would lose an owner wait for a later one. */
  public static PoolPlan step(ServiceImage before, Instant now) {
    Instant committed = before.nextCommit(now);
    ServiceImage from = before.withTransitions(before.transitions().at(committed));
    return sharedOut(from, from.pool(), Set.of(), committed, WriteOptions.COMMIT.with(OnLoss.KEEP));
  }

  /**
   * Whether there is nothing to do: no backend changes, no bucket moves, and no transition of
   * {@code before} begins, ends or changes its end.
   */
  public boolean isEmpty(ServiceImage before) {
    return delta.backends().isEmpty()
        && delta.moves().size() == 0
        && delta.releases().size() == 0
        && after.transitions().isLike(before.transitions());
  }

  /** The same pool with these buckets moved. */
  public static PoolPlan of(ServiceImage before, Runs runs, Instant committed, boolean dryRun) {
    Losses losses = new Losses(before, before.pool(), Set.of(), committed);
    return of(before, before.pool(), runs, losses, committed, dryRun);
  }

  /** The same pool and owners, without these former owners. */
  public static PoolPlan releasing(ServiceImage before, Runs releases, Instant committed) {
    Delta delta =
        Delta.after(before.ring(), committed.getEpochSecond(), List.of(), Runs.EMPTY)
            .closing(before.config().closedUntil(committed.getEpochSecond(), false))
            .releasing(releases);
    return of(before, delta, new Losses(before, before.pool(), Set.of(), committed), false);
  }

  /** Without the former owners whose window is over; empty if there are none. */
  public static Optional<PoolPlan> closing(ServiceImage before, Instant committed, boolean dryRun) {
    long closed = before.config().closedUntil(committed.getEpochSecond(), true);
    Delta delta =
        Delta.after(before.ring(), committed.getEpochSecond(), List.of(), Runs.EMPTY)
            .closing(closed);
    PoolPlan plan =
        of(before, delta, new Losses(before, before.pool(), Set.of(), committed), dryRun);
    return Optional.of(plan).filter(some -> !some.after().ring().hasHistoriesOf(before.ring()));
  }

  private static Set<Integer> dead(List<Change> changes) {
    return changes.stream()
        .filter(change -> change instanceof Change.Remove remove && remove.dead())
        .map(Change::id)
        .collect(Collectors.toUnmodifiableSet());
  }

  private static PoolPlan sharedOut(
      ServiceImage before,
      SortedMap<Integer, Member> pool,
      Set<Integer> dead,
      Instant committed,
      WriteOptions options) {
    Losses losses = new Losses(before, pool, dead, committed);
    Runs assigned =
        Assignment.of(before.config().assignment())
            .assign(losses.ring(), weights(before, pool), losses.formers());
    Runs wanted =
        dead.isEmpty() ? assigned : Runs.between(before.ring(), assigned.owners(losses.ring()));
    Runs runs = losses.allowed(wanted, options);
    ServiceImage from =
        losses.waiting() > 0 && options.onLoss() == OnLoss.WAIT
            ? losses.withJob(before, runs)
            : before;
    // Those that are whole remain while buckets wait, so that further steps move them.
    ServiceImage settled =
        losses.waiting() > 0 ? from : from.withTransitions(from.transitions().unfinished());
    return of(settled, pool, runs, losses, committed, options.dryRun());
  }

  /** Beamer's method also uses costs and slow starts; the others use weights alone. */
  private static int[] weights(ServiceImage before, SortedMap<Integer, Member> pool) {
    return before.config().assignment() == AssignmentMethod.BEAMER
        ? before.corrected(pool)
        : ServiceImage.weights(pool);
  }

  private static PoolPlan of(
      ServiceImage before,
      SortedMap<Integer, Member> pool,
      Runs runs,
      Losses losses,
      Instant committed,
      boolean dryRun) {
    Ring ring = before.ring();
    List<Backend> changed = changedBackends(before, pool, losses.dead());
    long closed = before.config().closedUntil(committed.getEpochSecond(), !changed.isEmpty());
    Delta delta =
        Delta.after(ring, committed.getEpochSecond(), changed, runs)
            .closing(closed)
            .releasing(ring.overflow(runs, losses.formers().most(), losses.dead(), closed));
    return of(before, delta, losses, dryRun);
  }

  private static PoolPlan of(ServiceImage before, Delta delta, Losses losses, boolean dryRun) {
    ServiceImage after = before.withRing(applied(before.ring(), delta));
    Result.Moved moved = Moves.of(before, delta.moves(), losses);
    return new PoolPlan(
        after,
        delta,
        Result.unchanged(after.config().name(), after.ring().generation(), dryRun)
            .with(moved, Moves.shares(before, after))
            .withPool(after.pool()));
  }

  private static Ring applied(Ring ring, Delta delta) {
    try {
      return ring.apply(delta);
    } catch (RefusedException e) {
      throw new IllegalStateException(
          "%s: generation %d does not follow".formatted(ring, delta.generation()), e);
    }
  }

  private static List<Backend> changedBackends(
      ServiceImage before, SortedMap<Integer, Member> after, Set<Integer> dead) {
    SortedMap<Integer, Backend> changed = new TreeMap<>();
    for (Member member : before.pool().values()) {
      if (!after.containsKey(member.id())) {
        changed.put(member.id(), backend(member, 0, true));
      }
    }
    for (int id : dead) {
      Address address = before.ring().backends().get(id).address();
      changed.put(id, Backend.dead(id, address));
    }
    for (Member member : after.values()) {
      if (!member.equals(before.pool().get(member.id()))) {
        changed.put(member.id(), backend(member, member.weight(), false));
      }
    }
    return List.copyOf(changed.values());
  }

  private static Backend backend(Member member, int weight, boolean isRemoved) {
    return new Backend(member.id(), member.address(), weight, isRemoved, false, member.foreign());
  }
}
