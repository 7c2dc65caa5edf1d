// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Which drains are allowed, and what they are. */
public final class DrainRules {
  private static final int LISTED = 20;

  private DrainRules() {}

  /**
   * The drains of {@code order} by backend. One that runs already goes on with the order's deadline
   * and end.
   *
   * @throws Refusal if one is not allowed
   */
  public static SortedMap<Integer, Drain> drains(
      ServiceImage image, DrainOrder order, Instant now) {
    check(image, order.ids());
    order
        .deadlineSeconds()
        .filter(seconds -> seconds < 1 || seconds > DrainOrder.DEADLINE_MAX)
        .ifPresent(
            seconds -> {
              throw Refusal.invalid(
                  "deadlineSeconds", seconds, "1..%d".formatted(DrainOrder.DEADLINE_MAX));
            });
    checkLimit(image, order.ids());
    Optional<Long> deadline =
        order.deadlineSeconds().map(seconds -> now.getEpochSecond() + seconds);
    SortedMap<Integer, Drain> drains = new TreeMap<>();
    for (int id : order.ids()) {
      Drain before = image.transitions().drains().get(id);
      drains.put(
          id,
          before == null
              ? new Drain(
                  now.getEpochSecond(),
                  image.ring().generation() + 1,
                  image.wanted().get(id).weight(),
                  deadline,
                  order.then(),
                  Optional.empty())
              : before.with(deadline, order.then()));
    }
    return drains;
  }

  /** The changes of the pool by which these backends lose their buckets. */
  public static List<Change> changes(ServiceImage image, Collection<Integer> ids) {
    return ids.stream()
        .filter(id -> image.pool().get(id).weight() > 0)
        .<Change>map(id -> new Change.Weight(id, 0))
        .toList();
  }

  /** The changes that undo the drains of these backends. */
  public static List<Change> undoing(ServiceImage image, List<Integer> ids) {
    check(image, ids);
    List<Change> changes = new ArrayList<>();
    for (int id : ids) {
      Drain drain = image.transitions().drains().get(id);
      if (drain == null) {
        throw Refusal.conflict("ids", id, "draining backends: " + listed(draining(image)));
      }
      if (drain.weight() > 0) {
        changes.add(new Change.Weight(id, drain.weight()));
      }
    }
    return changes;
  }

  private static void check(ServiceImage image, List<Integer> ids) {
    if (ids.isEmpty() || ids.size() > Transitions.MAX) {
      throw Refusal.invalid(
          "ids", ids.size() + " backends", "1..%d at once".formatted(Transitions.MAX));
    }
    Set<Integer> seen = new HashSet<>();
    for (int id : ids) {
      if (!seen.add(id)) {
        throw Refusal.invalid("ids", id, "each backend once");
      }
      if (!image.pool().containsKey(id)) {
        throw Refusal.missing(
            "ids", id, "backends of service '%s'".formatted(image.config().name()));
      }
    }
  }

  /** Backends of weight 0 count, whoever took it away. */
  private static void checkLimit(ServiceImage image, List<Integer> ids) {
    Set<Integer> out =
        image.pool().values().stream()
            .filter(member -> member.weight() == 0)
            .map(Member::id)
            .collect(Collectors.toCollection(TreeSet::new));
    Set<Integer> all = new HashSet<>(out);
    all.addAll(ids);
    Set<Integer> drains = new HashSet<>(image.transitions().drains().keySet());
    drains.addAll(ids);
    if (drains.size() > Transitions.MAX) {
      throw Refusal.conflict(
          "ids",
          drains.size() + " draining backends",
          "at most %d at once: remove some that have ended".formatted(Transitions.MAX));
    }
    image
        .config()
        .maintenance()
        .map(maintenance -> maintenance.draining(image.pool().size()))
        .filter(most -> all.size() > most && all.size() > out.size())
        .ifPresent(
            most -> {
              throw Refusal.conflict(
                  "ids",
                  listed(ids),
                  "at most %d of %d backends draining (maintenance.maxDraining %s); now: %s"
                      .formatted(
                          most,
                          image.pool().size(),
                          image.config().maintenance().get().maxDraining(),
                          listed(out)));
            });
  }

  private static Collection<Integer> draining(ServiceImage image) {
    return image.transitions().drains().keySet();
  }

  private static String listed(Collection<Integer> ids) {
    if (ids.isEmpty()) {
      return "none";
    }
    int more = ids.size() - LISTED;
    return ids.stream().limit(LISTED).map(String::valueOf).collect(Collectors.joining(", "))
        + (more > 0 ? " and %d more".formatted(more) : "");
  }
}
