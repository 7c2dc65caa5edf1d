// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.fairlead.controller.core.image.ServiceImage.Member;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The backends of a service that are on their way from one state to another, as in its ZooKeeper
 * node (protocol/README.md §4), from which any controller continues: those that start slowly, those
 * that drain, and those that health took out of service. Immutable.
 *
 * @param last Unix seconds of the latest step
 * @param slowStarts by backend id; their weights are above 0
 * @param drains by backend id; their weights are 0
 * @param former drains whose backends were removed at the end; the latest {@link #FORMER_MAX}, each
 *     until its id is used again
 * @param health what probes have brought about
 * @param stage the latest change of weights that takes effect in steps
 */
@JsonPropertyOrder({"format", "last", "slowStarts", "drains", "former", "health", "stage"})
@Built
public record Transitions(
    int format,
    long last,
    SortedMap<Integer, SlowStart> slowStarts,
    SortedMap<Integer, Drain> drains,
    SortedMap<Integer, Drain> former,
    @JsonInclude(JsonInclude.Include.NON_NULL) Unhealthy health,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Stage> stage)
    implements TransitionsBuilder.With {
  public static final int FORMAT = 1;

  /** Most backends in a transition at once: they have to fit into the node that keeps them. */
  public static final int MAX = 2048;

  /** So many steps make a slow start that is long enough for them. */
  public static final int STEPS = 20;

  public static final int FORMER_MAX = 256;

  private static final int LISTED = 10;

  public static final Transitions NONE =
      new Transitions(
          FORMAT,
          0,
          new TreeMap<>(),
          new TreeMap<>(),
          new TreeMap<>(),
          Unhealthy.NONE,
          Optional.empty());

  public Transitions {
    slowStarts =
        Collections.unmodifiableSortedMap(slowStarts == null ? new TreeMap<>() : slowStarts);
    drains = Collections.unmodifiableSortedMap(drains == null ? new TreeMap<>() : drains);
    former = Collections.unmodifiableSortedMap(former == null ? new TreeMap<>() : former);
    health = health == null ? Unhealthy.NONE : health;
    stage = stage == null ? Optional.empty() : stage;
  }

  /**
   * A backend whose share grows to that of its weight, linearly.
   *
   * @param started Unix seconds
   * @param share in thousandths of the weight's, as of the latest step
   */
  @JsonPropertyOrder({"started", "seconds", "share"})
  public record SlowStart(long started, int seconds, int share) {
    public static final int WHOLE = 1000;

    /** The share of the generation that adds the backend. */
    public static final int FIRST = WHOLE / STEPS;

    public static final int SECONDS_MIN = 10;
    public static final int SECONDS_MAX = 86_400;

    public static SlowStart of(Instant now, int seconds) {
      return new SlowStart(now.getEpochSecond(), seconds, FIRST);
    }

    /** Unix seconds at which the share is whole. */
    public long ends() {
      return started + seconds;
    }

    /** The share, of 1. */
    public double part() {
      return share / (double) WHOLE;
    }

    public boolean isWhole() {
      return share == WHOLE;
    }

    /** Its share never shrinks, whatever the clock says. */
    SlowStart at(Instant now) {
      long linear = FIRST + Math.max(0, now.getEpochSecond() - started) * (WHOLE - FIRST) / seconds;
      return new SlowStart(started, seconds, (int) Math.max(share, Math.min(WHOLE, linear)));
    }
  }

  /**
   * With more backends that start slowly from {@code now} on.
   *
   * @param seconds that each takes, by id
   */
  public Transitions starting(Map<Integer, Integer> seconds, Instant now) {
    if (seconds.isEmpty()) {
      return this;
    }
    SortedMap<Integer, SlowStart> all = new TreeMap<>(slowStarts);
    seconds.forEach((id, each) -> all.put(id, SlowStart.of(now, each)));
    return withLast(latest(now)).withSlowStarts(all);
  }

  /** Without the slow starts of these backends. */
  public Transitions without(Collection<Integer> ids) {
    SortedMap<Integer, SlowStart> kept = new TreeMap<>(slowStarts);
    kept.keySet().removeAll(ids);
    return withSlowStarts(kept);
  }

  /** Only what the weights of these backends allow. */
  Transitions within(SortedMap<Integer, Member> pool) {
    SortedMap<Integer, SlowStart> starts = new TreeMap<>(slowStarts);
    starts.keySet().removeIf(id -> !pool.containsKey(id) || pool.get(id).weight() == 0);
    SortedMap<Integer, Drain> draining = new TreeMap<>(drains);
    draining.keySet().removeIf(id -> !pool.containsKey(id) || pool.get(id).weight() > 0);
    SortedMap<Integer, Drain> gone = new TreeMap<>(former);
    gone.keySet().removeAll(pool.keySet());
    Unhealthy unhealthy = health.within(pool);
    return new Transitions(
        format,
        last,
        starts,
        draining,
        gone,
        unhealthy,
        stage.map(running -> running.within(pool, unhealthy, last)));
  }

  /** With these drains, in place of those that their backends had. */
  public Transitions draining(Map<Integer, Drain> more, Instant now) {
    SortedMap<Integer, Drain> all = new TreeMap<>(drains);
    all.putAll(more);
    return withLast(latest(now)).withDrains(all);
  }

  /** With these drains as former ones. */
  public Transitions removed(Map<Integer, Drain> more, Instant now) {
    SortedMap<Integer, Drain> all = new TreeMap<>(former);
    all.putAll(more);
    List<Integer> latest =
        all.entrySet().stream()
            .sorted(
                Comparator.comparing(
                    (Map.Entry<Integer, Drain> each) -> -each.getValue().end().orElseThrow().at()))
            .limit(FORMER_MAX)
            .map(Map.Entry::getKey)
            .toList();
    all.keySet().retainAll(Set.copyOf(latest));
    return withLast(latest(now)).withFormer(all);
  }

  /** Without the drains of these backends. */
  public Transitions undrained(Collection<Integer> ids) {
    SortedMap<Integer, Drain> kept = new TreeMap<>(drains);
    kept.keySet().removeAll(ids);
    return withDrains(kept);
  }

  public Transitions with(Unhealthy newHealth) {
    return withHealth(newHealth);
  }

  /** With the change of weights that takes effect in steps. */
  public Transitions with(Stage newStage, Instant now) {
    return withLast(latest(now)).withStage(Optional.of(newStage));
  }

  /** The change that takes effect in steps, while it does. */
  public Optional<Stage> staging() {
    return stage.filter(Stage::isRunning);
  }

  /** Whether the same backends are on their way to the same: shares may differ. */
  public boolean isLike(Transitions other) {
    return slowStarts.keySet().equals(other.slowStarts.keySet())
        && drains.equals(other.drains)
        && former.equals(other.former)
        && health.equals(other.health)
        && stage.equals(other.stage);
  }

  private long latest(Instant now) {
    return Math.max(last, now.getEpochSecond());
  }

  /** All shares as they should be at {@code now}. */
  public Transitions at(Instant now) {
    if (slowStarts.isEmpty()) {
      return this;
    }
    SortedMap<Integer, SlowStart> next = new TreeMap<>();
    slowStarts.forEach((id, start) -> next.put(id, start.at(now)));
    return withLast(latest(now)).withSlowStarts(next);
  }

  /** Without slow starts whose share is whole. */
  public Transitions unfinished() {
    SortedMap<Integer, SlowStart> kept = new TreeMap<>(slowStarts);
    kept.values().removeIf(SlowStart::isWhole);
    return withSlowStarts(kept);
  }

  /** What a step did, in a few words for the audit. */
  public static String words(Transitions before, Transitions after) {
    StringBuilder words = new StringBuilder("slow start");
    int listed = 0;
    for (int id : before.slowStarts().keySet()) {
      if (listed++ == LISTED) {
        return words
            .append(" and %d more".formatted(before.slowStarts().size() - LISTED))
            .toString();
      }
      SlowStart now = after.slowStarts().get(id);
      int share = now == null ? SlowStart.WHOLE : now.share();
      words.append(
          String.format(
              Locale.ROOT, "%s backend %d at %.1f %%", listed == 1 ? "" : ",", id, share / 10.0));
    }
    return words.toString();
  }

  /**
   * Unix seconds of the next step, which all slow starts take together: as far after the latest as
   * the shortest of them asks for, or when one ends; never without any.
   */
  public long due() {
    long due = Long.MAX_VALUE;
    for (SlowStart start : slowStarts.values()) {
      long step = last + Math.max(1, start.seconds() / STEPS);
      due = Math.min(due, start.ends() > last ? Math.min(step, start.ends()) : step);
    }
    return due;
  }

  /**
   * Weights of which a backend that starts slowly has only its share. All of them are scaled up
   * where needed, so that no share is rounded to nothing; the proportions stay.
   */
  public int[] lessened(int[] weights) {
    if (slowStarts.isEmpty()) {
      return weights;
    }
    int highest = Arrays.stream(weights).max().orElse(0);
    int scale = highest <= Member.WEIGHT_MAX ? SlowStart.WHOLE : 1;
    int[] lessened = Arrays.stream(weights).map(weight -> weight * scale).toArray();
    slowStarts.forEach(
        (id, start) ->
            lessened[id] = (int) ((long) lessened[id] * start.share() / SlowStart.WHOLE));
    return lessened;
  }
}
