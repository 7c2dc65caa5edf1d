// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.core.image.Unhealthy;
import io.fairlead.controller.core.image.Unhealthy.Outage;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.health.HealthDecision;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The outages of backends that health took out of service, beside what operators do. A weight that
 * an operator sets meanwhile is kept for the return; weight 0 and a drain end the outage, since the
 * backend is then out because the operator says so.
 */
public final class OutageRules {
  private static final int LISTED = 10;

  private OutageRules() {}

  /**
   * @param out by backend id, the reason
   * @param dead of those that are out, to remove as dead
   * @param again of those that are gone, to have in the pool again
   */
  public record Order(
      SortedMap<Integer, String> out,
      SortedSet<Integer> back,
      SortedSet<Integer> dead,
      SortedSet<Integer> again) {
    public static Order back(SortedSet<Integer> back) {
      return new Order(new TreeMap<>(), back, new TreeSet<>(), new TreeSet<>());
    }

    public boolean isEmpty() {
      return out.isEmpty() && back.isEmpty() && dead.isEmpty() && again.isEmpty();
    }

    /** What of it {@code image} still allows: an operator may have been faster. */
    public Order on(ServiceImage image) {
      Unhealthy health = image.transitions().health();
      SortedMap<Integer, String> goes = new TreeMap<>(out);
      goes.keySet()
          .removeIf(
              id ->
                  !image.pool().containsKey(id)
                      || image.pool().get(id).weight() == 0
                      || health.holds().containsKey(id));
      SortedSet<Integer> comes = new TreeSet<>(back);
      comes.removeIf(id -> !health.isOut(id));
      SortedSet<Integer> die = new TreeSet<>(dead);
      die.removeIf(id -> !health.isOut(id) || health.holds().containsKey(id));
      SortedSet<Integer> there = new TreeSet<>(again);
      there.retainAll(health.gone().keySet());
      return new Order(goes, comes, die, there);
    }

    /** In words, for the audit. */
    public String words(String whyBack) {
      return Stream.of(
              words("out", out),
              words("back", because(back, whyBack)),
              words("removed as dead", because(dead, "probes and agent are silent")),
              words("in the pool again", because(again, "removed as dead before")))
          .filter(words -> !words.isEmpty())
          .collect(Collectors.joining("; "));
    }

    private static SortedMap<Integer, String> because(SortedSet<Integer> ids, String why) {
      SortedMap<Integer, String> reasons = new TreeMap<>();
      ids.forEach(id -> reasons.put(id, why));
      return reasons;
    }

    private static String words(String what, SortedMap<Integer, String> backends) {
      int more = backends.size() - LISTED;
      return backends.isEmpty()
          ? ""
          : backends.entrySet().stream()
                  .limit(LISTED)
                  .map(each -> "backend %d (%s)".formatted(each.getKey(), each.getValue()))
                  .collect(Collectors.joining(", ", what + ": ", ""))
              + (more > 0 ? " and %d more".formatted(more) : "");
    }
  }

  /** The outages after {@code changes}; gives those that go on weight 0 in {@code pool}. */
  static Unhealthy weighed(
      ServiceImage before, List<Change> changes, SortedMap<Integer, Member> pool, Instant now) {
    Unhealthy health = before.transitions().health();
    for (Change change : changes) {
      Member member = pool.get(change.id());
      boolean isSet = change instanceof Change.Weight || change instanceof Change.Put;
      if (isSet && member != null && health.isOut(change.id())) {
        if (member.weight() == 0) {
          health = health.back(change.id(), now);
        } else {
          health = health.weighing(change.id(), member.weight());
          pool.put(member.id(), member.with(0));
        }
      }
    }
    return health;
  }

  /** With the outages of these backends over. */
  static Unhealthy over(Unhealthy before, Collection<Integer> ids, Instant now) {
    Unhealthy health = before;
    for (int id : ids) {
      health = health.back(id, now);
    }
    return health;
  }

  static List<Change> changes(ServiceImage before, Order order) {
    List<Change> changes = new ArrayList<>();
    order.out().keySet().forEach(id -> changes.add(new Change.Weight(id, 0)));
    order
        .back()
        .forEach(
            id ->
                changes.add(
                    new Change.Weight(id, before.transitions().health().out().get(id).weight())));
    order.dead().forEach(id -> changes.add(new Change.Remove(id, true)));
    order
        .again()
        .forEach(
            id ->
                changes.add(
                    new Change.Add(id, before.transitions().health().gone().get(id).address(), 0)));
    return changes;
  }

  /** A backend that returns starts slowly if the service's backends do. */
  static Transitions after(ServiceImage before, Transitions state, Order order, Instant now) {
    Unhealthy health = state.health();
    for (Map.Entry<Integer, String> each : order.out().entrySet()) {
      int id = each.getKey();
      Outage last = health.out().get(id);
      int times = last == null ? 1 : HealthDecision.times(last, now) + 1;
      int weight = before.pool().get(id).weight();
      health =
          health.with(
              id,
              new Outage(
                  now.getEpochSecond(),
                  weight,
                  each.getValue(),
                  times,
                  Optional.empty(),
                  Optional.empty()));
    }
    for (int id : order.dead()) {
      health = health.died(id, before.pool().get(id).address().toString(), now);
    }
    for (int id : order.again()) {
      health = health.again(id);
    }
    SortedMap<Integer, Integer> starts = new TreeMap<>();
    int seconds = before.config().slowStartSeconds();
    boolean hasOthers =
        before.pool().values().stream()
            .anyMatch(member -> member.weight() > 0 && !order.out().containsKey(member.id()));
    for (int id : order.back()) {
      health = health.back(id, now);
      if (seconds > 0
          && hasOthers
          && before.config().assignment() == AssignmentMethod.BEAMER
          && state.slowStarts().size() + starts.size() < Transitions.MAX) {
        starts.put(id, seconds);
      }
    }
    return state
        .with(health.since(now.minusSeconds(HealthDecision.FORGIVEN_SECONDS)))
        .starting(starts, now);
  }

  /** Holds or releases backends; one that is out comes back when it is held. */
  public static Order held(ServiceImage before, List<Integer> ids, boolean isHeld) {
    Unhealthy health = before.transitions().health();
    for (int id : ids) {
      if (!before.pool().containsKey(id)) {
        throw Refusal.missing(
            "ids", id, "backends of service '%s'".formatted(before.config().name()));
      }
    }
    SortedSet<Integer> back = new TreeSet<>();
    ids.stream().filter(id -> isHeld && health.isOut(id)).forEach(back::add);
    return Order.back(back);
  }

  static Transitions withHolds(Transitions state, List<Integer> ids, boolean isHeld, Instant now) {
    Unhealthy health = state.health();
    for (int id : ids) {
      health = isHeld ? health.held(id, now) : health.released(id);
    }
    if (health.holds().size() > Transitions.MAX) {
      throw Refusal.conflict(
          "ids",
          health.holds().size() + " held backends",
          "at most %d: take the health check away instead".formatted(Transitions.MAX));
    }
    return state.with(health);
  }
}
