// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.core.image.Unhealthy.Outage;
import io.fairlead.controller.core.words.Word;
import io.fairlead.controller.resources.health.Evidence.Verdict;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Which backends of a service go out of service, and which come back. Pure: {@link #step} takes
 * what is known now and what it remembered, and returns new ones of both.
 *
 * <pre>
 *   in ── most probes say down ──▶ out ── most say up, for the hold-down ──▶ in
 *                                   hold-down: 0 s, 30 s, 60 s, ... 900 s, by how often lately
 * </pre>
 *
 * <p>One that is out, silent to all probes, and whose agent has fallen silent is dead, if the
 * operator allows that: its buckets let go of it. It stays out until it is up.
 *
 * <p>Nothing goes out beyond the limit, nor while fewer backends are healthy than the panic
 * threshold. After {@link #PANIC_AFTER_SECONDS} below it health is ignored: what is out comes back,
 * until {@link #CALM_SECONDS} above it.
 */
public final class HealthDecision {
  /** In service for so long, a backend's outages before are forgotten. */
  public static final long FORGIVEN_SECONDS = 900;

  static final long HOLD_FIRST_SECONDS = 30;
  static final long HOLD_MAX_SECONDS = 900;
  static final long PANIC_AFTER_SECONDS = 5;
  static final long CALM_SECONDS = 30;
  private static final int DOUBLINGS_MAX = 5;

  private HealthDecision() {}

  /**
   * @param panicPercent of the backends that have to be healthy; 0: no threshold
   * @param limit how many may be out at once, as long as one is left
   * @param withdraw whether the last may go out too, so that muxes withdraw the VIPs
   * @param dead whether backends may be removed as dead
   */
  public record Policy(int panicPercent, int limit, boolean withdraw, boolean dead) {}

  /**
   * A backend to which the operator gives a weight.
   *
   * @param held whether health leaves it alone
   * @param silent whether its server answers no probe on any port, and its agent has fallen silent
   * @param outage that it is in, or was in lately
   */
  public record Backend(Verdict verdict, boolean silent, boolean held, Optional<Outage> outage) {
    public boolean isOut() {
      return outage.filter(Outage::isOut).isPresent();
    }
  }

  /**
   * What a leader remembers. A new one begins with {@link #NONE}: hold-downs begin again.
   *
   * @param upSince by backend that is out, Unix seconds since when it is up
   */
  public record Memory(
      SortedMap<Integer, Long> upSince,
      boolean isPanic,
      OptionalLong belowSince,
      OptionalLong calmSince) {
    public static final Memory NONE =
        new Memory(new TreeMap<>(), false, OptionalLong.empty(), OptionalLong.empty());
  }

  /** How a backend stands. */
  public enum State implements Word {
    HEALTHY,
    /** Most probes say neither. */
    UNKNOWN,
    /** Out of service. */
    OUT,
    /** Out of service, and its buckets have let go of it. */
    DEAD,
    /** Out of service, and up: it waits for the end of its hold-down. */
    RETURNING,
    /** Down, and in service: too few are healthy. */
    PANIC,
    /** Down, and in service: no more may be out. */
    LIMITED,
    /** Left alone by the operator's order. */
    HELD,
    /** Of weight 0 by the operator's order. */
    DRAINING;

    @Override
    public String toString() {
      return word();
    }
  }

  /**
   * @param out to take out of service
   * @param back to take back
   * @param dead to remove as dead
   * @param states before that
   * @param healthy how many of the backends
   * @param returns by backend that is {@code RETURNING}, Unix seconds at which it may
   */
  public record Step(
      Memory memory,
      SortedSet<Integer> out,
      SortedSet<Integer> back,
      SortedSet<Integer> dead,
      SortedMap<Integer, State> states,
      int healthy,
      SortedMap<Integer, Long> returns) {}

  /** How often the backend went out lately. */
  public static int times(Outage outage, Instant now) {
    return outage.returned().filter(at -> now.getEpochSecond() - at >= FORGIVEN_SECONDS).isPresent()
        ? 0
        : outage.times();
  }

  /** For how long a backend has to be up before it comes back, that went out so often. */
  static long hold(int times) {
    return times <= 1
        ? 0
        : Math.min(HOLD_MAX_SECONDS, HOLD_FIRST_SECONDS << Math.min(DOUBLINGS_MAX, times - 2));
  }

  /**
   * @param backends that the operator gives a weight, by id
   * @param now Unix seconds
   */
  public static Step step(
      Policy policy, SortedMap<Integer, Backend> backends, Memory before, long now) {
    SortedMap<Integer, Long> upSince = new TreeMap<>();
    SortedMap<Integer, Long> returns = new TreeMap<>();
    SortedSet<Integer> ready = new TreeSet<>();
    boolean isNoneServing = backends.values().stream().allMatch(Backend::isOut);
    int healthy = 0;
    for (var each : backends.entrySet()) {
      int id = each.getKey();
      Backend backend = each.getValue();
      if (backend.isOut() && backend.verdict() == Verdict.UP) {
        long since = Math.min(now, before.upSince().getOrDefault(id, now));
        long returning = since + hold(backend.outage().get().times());
        upSince.put(id, since);
        if (now >= returning || isNoneServing) {
          ready.add(id);
        } else {
          returns.put(id, returning);
        }
      }
      boolean isSick = backend.isOut() ? !ready.contains(id) : backend.verdict() == Verdict.DOWN;
      healthy += isSick && !backend.held() ? 0 : 1;
    }
    boolean isBelow = healthy * 100L < (long) policy.panicPercent() * backends.size();
    Memory memory = memory(before, upSince, isBelow, now);
    SortedSet<Integer> back = new TreeSet<>();
    SortedSet<Integer> dead = new TreeSet<>();
    boolean isIgnored = isBelow || memory.isPanic();
    int out = 0;
    for (var each : backends.entrySet()) {
      if (each.getValue().isOut()) {
        if (memory.isPanic() || each.getValue().held() || ready.contains(each.getKey())) {
          back.add(each.getKey());
        } else {
          out++;
          boolean isDead = each.getValue().outage().get().dead().isPresent();
          if (policy.dead() && each.getValue().silent() && !isDead && !isIgnored) {
            dead.add(each.getKey());
          }
        }
      }
    }
    int most = policy.withdraw() ? backends.size() : Math.min(policy.limit(), backends.size() - 1);
    SortedSet<Integer> taken = new TreeSet<>();
    SortedMap<Integer, State> states = new TreeMap<>();
    for (var each : backends.entrySet()) {
      State state = state(each.getValue(), isIgnored);
      if (state == State.OUT && !each.getValue().isOut()) {
        if (out < Math.min(most, Transitions.MAX)) {
          taken.add(each.getKey());
          out++;
        } else {
          state = State.LIMITED;
        }
      }
      states.put(each.getKey(), state);
    }
    return new Step(memory, taken, back, dead, states, healthy, returns);
  }

  /** {@code OUT} also of one that should be and is not yet. */
  private static State state(Backend backend, boolean isIgnored) {
    if (backend.held()) {
      return State.HELD;
    }
    if (backend.isOut()) {
      return backend.verdict() == Verdict.UP
          ? State.RETURNING
          : backend.outage().get().dead().isPresent() ? State.DEAD : State.OUT;
    }
    return switch (backend.verdict()) {
      case UP -> State.HEALTHY;
      case UNKNOWN -> State.UNKNOWN;
      case DOWN -> isIgnored ? State.PANIC : State.OUT;
    };
  }

  private static Memory memory(
      Memory before, SortedMap<Integer, Long> upSince, boolean isBelow, long now) {
    if (isBelow) {
      long since = Math.min(now, before.belowSince().orElse(now));
      boolean isPanic = before.isPanic() || now - since >= PANIC_AFTER_SECONDS;
      return new Memory(upSince, isPanic, OptionalLong.of(since), OptionalLong.empty());
    }
    if (!before.isPanic()) {
      return new Memory(upSince, false, OptionalLong.empty(), OptionalLong.empty());
    }
    long calm = Math.min(now, before.calmSince().orElse(now));
    return new Memory(
        upSince, now - calm < CALM_SECONDS, OptionalLong.empty(), OptionalLong.of(calm));
  }
}
