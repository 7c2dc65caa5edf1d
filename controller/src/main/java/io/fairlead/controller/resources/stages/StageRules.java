// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.StageSettings;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.image.Stage;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.core.image.Transitions.SlowStart;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.Stages;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** Which changes take effect in steps, which are refused meanwhile, and how one is undone. */
public final class StageRules {
  public static final int BAKE_MAX = 86_400;

  /** What a text of steps may be. */
  public static final String ALLOWED =
      "1 to %d ascending percentages, the last of them 100%%, such as 1%%,10%%,100%%"
          .formatted(Stage.Steps.MAX);

  private StageRules() {}

  /**
   * Steps that a text says.
   *
   * @throws Refusal if it is malformed
   */
  public static Stage.Steps steps(String field, String text, int bakeSeconds) {
    return Stage.Steps.parse(text, bakeSeconds)
        .orElseThrow(() -> Refusal.invalid(field, text, ALLOWED));
  }

  /** Checks how long a step lasts. */
  public static int bake(String field, int seconds) {
    if (seconds < 1 || seconds > BAKE_MAX) {
      throw Refusal.invalid(field, seconds, "1..%d".formatted(BAKE_MAX));
    }
    return seconds;
  }

  /** Only Beamer's assignment moves nothing but what a step lacks. */
  public static void checkAssignment(ServiceConfig config) {
    config
        .stagesOrDefault()
        .stages()
        .filter(text -> config.assignment() != AssignmentMethod.BEAMER)
        .ifPresent(text -> refuseAssignment("stageSettings.stages", text, config));
  }

  /** Another assignment would let a staged change take effect at once. */
  public static void checkKeptAssignment(ServiceImage image, AssignmentMethod wanted) {
    image
        .transitions()
        .staging()
        .filter(stage -> wanted != AssignmentMethod.BEAMER)
        .ifPresent(
            stage -> {
              throw refused("assignment", wanted, image, stage);
            });
  }

  private static void refuseAssignment(String field, String text, ServiceConfig config) {
    throw Refusal.conflict(
        field,
        text,
        "none with assignment %s, which decides alone who owns which bucket"
            .formatted(config.assignment()));
  }

  /**
   * The transitions with the weights that {@code pool} changes staged, if the options or the
   * service say so: those that remain above 0, of backends that have been in service or are new.
   * Where no backend had a weight before, they count at once. One that starts slowly goes on with
   * it: else all of its weight before would count at once.
   *
   * @param state after the change
   * @throws Refusal if another change is staged that this one contradicts
   */
  public static Transitions after(
      ServiceImage before,
      Transitions state,
      SortedMap<Integer, Member> pool,
      Instant now,
      WriteOptions options) {
    SortedMap<Integer, Integer> former = new TreeMap<>();
    SortedMap<Integer, Member> wanted = before.wanted();
    for (Member member : pool.values()) {
      Member was = wanted.get(member.id());
      int formerWeight = was == null ? 0 : was.weight();
      int weight =
          state.health().isOut(member.id())
              ? state.health().out().get(member.id()).weight()
              : member.weight();
      if (weight > 0 && weight != formerWeight) {
        former.put(member.id(), formerWeight);
      }
    }
    Optional<Stage> running = before.transitions().staging();
    running.ifPresent(
        stage ->
            former.keySet().stream()
                .filter(stage.former()::containsKey)
                .findFirst()
                .ifPresent(
                    id -> {
                      throw refused("id", id, before, stage);
                    }));
    boolean hasOthers =
        before.pool().values().stream()
            .anyMatch(was -> was.weight() > 0 && pool.containsKey(was.id()));
    Optional<Stage.Steps> steps = steps(before.config(), options);
    if (steps.isEmpty() || former.isEmpty() || !hasOthers) {
      return state;
    }
    running.ifPresent(
        stage -> {
          throw refused("stage", "a second change", before, stage);
        });
    if (former.size() > Transitions.MAX) {
      throw Refusal.conflict(
          "stage",
          former.size() + " changed backends",
          "at most %d in a staged change".formatted(Transitions.MAX));
    }
    SortedMap<Integer, SlowStart> starts = new TreeMap<>(state.slowStarts());
    starts.keySet().removeAll(former.keySet());
    before
        .transitions()
        .slowStarts()
        .forEach(
            (id, start) -> {
              if (former.containsKey(id)) {
                starts.put(id, start);
              }
            });
    return state.withSlowStarts(starts).with(Stage.of(steps.get(), former, now), now);
  }

  private static Optional<Stage.Steps> steps(ServiceConfig config, WriteOptions options) {
    StageSettings settings = config.stagesOrDefault();
    if (options.stages().isEmpty()) {
      return settings.steps();
    }
    Stages asked = options.stages().get();
    Stage.Steps steps =
        steps(
            "stage",
            asked.text(),
            asked.bakeSeconds().map(bake -> bake("bake", bake)).orElse(settings.bakeSeconds()));
    if (steps.shares().size() == 1) {
      return Optional.empty();
    }
    if (config.assignment() != AssignmentMethod.BEAMER) {
      refuseAssignment("stage", asked.text(), config);
    }
    return Optional.of(steps);
  }

  private static Refusal refused(String field, Object value, ServiceImage image, Stage stage) {
    return Refusal.conflict(
        field,
        value,
        ("no other change while one is staged (%s of it moved): wait for its end, or 'fairleadctl"
                + " stage advance %s', or 'fairleadctl stage rollback %s'")
            .formatted(stage.words(), image.config().name(), image.config().name()));
  }

  /**
   * The staged change of a service.
   *
   * @throws Refusal if there is none
   */
  public static Stage running(ServiceImage image) {
    return image
        .transitions()
        .staging()
        .orElseThrow(
            () ->
                Refusal.conflict(
                    "stage", "none", "a service with a staged change that has not ended"));
  }

  /** The changes that bring the former weights back. */
  public static List<Change> undoing(Stage stage) {
    return stage.former().entrySet().stream()
        .<Change>map(each -> new Change.Weight(each.getKey(), each.getValue()))
        .toList();
  }

  /** Backends that were not in service before are drained, so that an undrain gives the weight. */
  public static SortedMap<Integer, Drain> drains(ServiceImage image, Stage stage, Instant now) {
    SortedMap<Integer, Drain> drains = new TreeMap<>();
    stage
        .former()
        .forEach(
            (id, weight) -> {
              if (weight == 0) {
                drains.put(
                    id,
                    new Drain(
                        now.getEpochSecond(),
                        image.ring().generation() + 1,
                        image.wanted().get(id).weight(),
                        Optional.empty(),
                        Drain.Then.KEEP,
                        Optional.empty()));
              }
            });
    return drains;
  }
}
