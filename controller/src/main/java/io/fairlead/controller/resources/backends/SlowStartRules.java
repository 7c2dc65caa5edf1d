// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.core.image.Transitions.SlowStart;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Which backends of a list of changes start slowly, and which slow starts it ends. */
public final class SlowStartRules {
  private static final String FIELD = "slowStartSeconds";

  private SlowStartRules() {}

  /** Checks how long a slow start takes. */
  public static int seconds(int seconds) {
    if (seconds != 0 && (seconds < SlowStart.SECONDS_MIN || seconds > SlowStart.SECONDS_MAX)) {
      throw Refusal.invalid(
          FIELD, seconds, "0, or %d..%d".formatted(SlowStart.SECONDS_MIN, SlowStart.SECONDS_MAX));
    }
    return seconds;
  }

  /** Only Beamer's assignment moves nothing but what a step lacks. */
  public static void checkAssignment(ServiceConfig config, int seconds) {
    if (seconds > 0 && config.assignment() != AssignmentMethod.BEAMER) {
      throw Refusal.conflict(
          FIELD,
          seconds,
          "0 with assignment %s, which decides alone who owns which bucket"
              .formatted(config.assignment()));
    }
  }

  /**
   * The transitions after {@code changes}: a backend that is added starts slowly unless no other
   * has a weight; a weight that is set by hand counts at once. A PUT that asks for what is there
   * ends nothing.
   *
   * @param pool after the changes
   */
  public static Transitions after(
      ServiceImage before, List<Change> changes, SortedMap<Integer, Member> pool, Instant now) {
    Set<Integer> ended =
        changes.stream()
            .filter(change -> isEnding(change, before.pool()))
            .map(Change::id)
            .collect(Collectors.toSet());
    Transitions after = before.transitions().without(ended);
    boolean hasOthers =
        before.pool().keySet().stream()
            .anyMatch(id -> pool.containsKey(id) && pool.get(id).weight() > 0);
    Map<Integer, Integer> starts = new TreeMap<>();
    for (Change change : changes) {
      int seconds = secondsOf(before, change);
      if (seconds > 0 && hasOthers && pool.get(change.id()).weight() > 0) {
        starts.put(change.id(), seconds);
      }
    }
    int all = after.slowStarts().size() + starts.size();
    if (!starts.isEmpty() && all > Transitions.MAX) {
      throw Refusal.conflict(
          FIELD,
          all + " backends that start slowly",
          "at most %d at once: add the others with %s 0, or later"
              .formatted(Transitions.MAX, FIELD));
    }
    return after.starting(starts, now);
  }

  private static boolean isEnding(Change change, SortedMap<Integer, Member> pool) {
    Member live = pool.get(change.id());
    return change instanceof Change.Weight
        || change instanceof Change.Remove
        || change instanceof Change.Put put && live != null && live.weight() != put.weight();
  }

  /** How slowly the change adds a backend; 0 if it adds none. */
  private static int secondsOf(ServiceImage before, Change change) {
    Optional<Integer> asked;
    if (change instanceof Change.Add add) {
      asked = add.slowStartSeconds();
    } else if (change instanceof Change.Put put) {
      asked = put.slowStartSeconds();
    } else {
      return 0;
    }
    int seconds = seconds(asked.orElse(before.config().slowStartSeconds()));
    checkAssignment(before.config(), seconds);
    return before.pool().containsKey(change.id()) ? 0 : seconds;
  }
}
