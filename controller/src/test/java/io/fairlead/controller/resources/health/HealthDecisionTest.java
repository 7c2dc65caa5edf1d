// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.Unhealthy.Outage;
import io.fairlead.controller.resources.health.Evidence.Verdict;
import io.fairlead.controller.resources.health.HealthDecision.Backend;
import io.fairlead.controller.resources.health.HealthDecision.Memory;
import io.fairlead.controller.resources.health.HealthDecision.Policy;
import io.fairlead.controller.resources.health.HealthDecision.State;
import io.fairlead.controller.resources.health.HealthDecision.Step;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Decisions against stories, and against an oracle that looks at the whole past each second. */
class HealthDecisionTest {
  private static final long NOW = 1_700_000_000;

  /** A service as its leader changes it. */
  private static final class World {
    final SortedMap<Integer, Optional<Outage>> outages = new TreeMap<>();
    final Set<Integer> held = new TreeSet<>();
    final Set<Integer> silent = new TreeSet<>();
    Policy policy;
    Memory memory = Memory.NONE;
    Step last;
    long now = NOW;

    World(Policy policy, int backends) {
      this.policy = policy;
      for (int id = 1; id <= backends; id++) {
        outages.put(id, Optional.empty());
      }
    }

    SortedMap<Integer, Backend> backends(SortedMap<Integer, Verdict> verdicts) {
      SortedMap<Integer, Backend> backends = new TreeMap<>();
      outages.forEach(
          (id, outage) ->
              backends.put(
                  id,
                  new Backend(verdicts.get(id), silent.contains(id), held.contains(id), outage)));
      return backends;
    }

    /** One second; returns what is out afterwards. */
    Set<Integer> second(SortedMap<Integer, Verdict> verdicts) {
      last = HealthDecision.step(policy, backends(verdicts), memory, now);
      memory = last.memory();
      for (int id : last.out()) {
        int times =
            outages
                    .get(id)
                    .map(past -> HealthDecision.times(past, Instant.ofEpochSecond(now)))
                    .orElse(0)
                + 1;
        outages.put(id, Optional.of(outage(now, times, Optional.empty(), Optional.empty())));
      }
      for (int id : last.dead()) {
        Outage past = outages.get(id).orElseThrow();
        outages.put(
            id,
            Optional.of(outage(past.since(), past.times(), Optional.empty(), Optional.of(now))));
      }
      for (int id : last.back()) {
        Outage past = outages.get(id).orElseThrow();
        outages.put(
            id, Optional.of(outage(past.since(), past.times(), Optional.of(now), past.dead())));
      }
      now++;
      return out();
    }

    private static Outage outage(
        long since, int times, Optional<Long> returned, Optional<Long> dead) {
      return new Outage(since, 100, "refused", times, returned, dead);
    }

    Set<Integer> dead() {
      Set<Integer> dead = out();
      dead.removeIf(id -> outages.get(id).orElseThrow().dead().isEmpty());
      return dead;
    }

    Set<Integer> out() {
      Set<Integer> out = new TreeSet<>();
      outages.forEach((id, outage) -> outage.filter(Outage::isOut).ifPresent(is -> out.add(id)));
      return out;
    }

    /** Each letter is a backend: u, d, ?. */
    Set<Integer> seconds(String verdicts, int seconds) {
      Set<Integer> out = out();
      for (int i = 0; i < seconds; i++) {
        out = second(verdicts(verdicts));
      }
      return out;
    }
  }

  private static SortedMap<Integer, Verdict> verdicts(String letters) {
    SortedMap<Integer, Verdict> verdicts = new TreeMap<>();
    for (int i = 0; i < letters.length(); i++) {
      verdicts.put(
          i + 1,
          switch (letters.charAt(i)) {
            case 'u' -> Verdict.UP;
            case 'd' -> Verdict.DOWN;
            default -> Verdict.UNKNOWN;
          });
    }
    return verdicts;
  }

  private static Policy policy(int panic, int limit) {
    return new Policy(panic, limit, false, false);
  }

  @Test
  void oneThatIsDownGoesOutAtOnceAndComesBackAtOnce() {
    World world = new World(policy(50, 2), 4);
    assertThat(world.seconds("uuuu", 5)).isEmpty();
    assertThat(world.seconds("uduu", 1)).containsExactly(2);
    assertThat(world.last.states()).containsEntry(2, State.OUT);
    assertThat(world.seconds("u?uu", 100)).containsExactly(2);
    assertThat(world.seconds("uuuu", 1)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"0,0", "1,0", "2,30", "3,60", "4,120", "5,240", "6,480", "7,900", "8,900", "99,900"})
  void holdDownsDouble(int times, long seconds) {
    assertThat(HealthDecision.hold(times)).isEqualTo(seconds);
  }

  @Test
  void oneThatFlapsStaysOutLongerEachTime() {
    World world = new World(policy(50, 2), 4);
    List<Integer> outSeconds = new ArrayList<>();
    for (int flap = 0; flap < 4; flap++) {
      world.seconds("uduu", 1);
      int seconds = 0;
      while (!world.second(verdicts("uuuu")).isEmpty()) {
        seconds++;
      }
      outSeconds.add(seconds);
    }
    assertThat(outSeconds).containsExactly(0, 30, 60, 120);
    world.seconds("uduu", 1);
    world.seconds("uuuu", 239);
    assertThat(world.last.states()).containsEntry(2, State.RETURNING);
    world.seconds("uduu", 1);
    assertThat(world.seconds("uuuu", 240))
        .as("down once more: from the beginning")
        .containsExactly(2);
    assertThat(world.seconds("uuuu", 1)).isEmpty();
    world.seconds("uuuu", (int) HealthDecision.FORGIVEN_SECONDS);
    world.seconds("uduu", 1);
    assertThat(world.seconds("uuuu", 1)).as("forgiven").isEmpty();
  }

  @Test
  void belowTheThresholdHealthIsIgnored() {
    World world = new World(policy(50, 3), 4);
    assertThat(world.seconds("duuu", 1)).containsExactly(1);
    assertThat(world.seconds("dduu", 1)).containsExactly(1, 2);
    assertThat(world.seconds("dddu", 4)).as("none more").containsExactly(1, 2);
    assertThat(world.last.states()).containsEntry(3, State.PANIC);
    assertThat(world.seconds("dddu", 2)).as("panic").isEmpty();
    assertThat(world.memory.isPanic()).isTrue();
    assertThat(world.seconds("dduu", 29)).as("not calm for long enough").isEmpty();
    assertThat(world.seconds("dddu", 1)).isEmpty();
    assertThat(world.seconds("dduu", 30)).isEmpty();
    assertThat(world.seconds("dduu", 1)).containsExactly(1, 2);
    assertThat(world.memory.isPanic()).isFalse();
  }

  @Test
  void allDownAtOnceIsPanic() {
    World world = new World(policy(50, 4), 4);
    assertThat(world.seconds("dddd", 100)).isEmpty();
    assertThat(new World(policy(50, 4), 1).seconds("d", 100)).as("the only one").isEmpty();
  }

  @Test
  void notMoreThanTheLimitGoOut() {
    World world = new World(policy(0, 1), 4);
    assertThat(world.seconds("uddu", 10)).containsExactly(2);
    assertThat(world.last.states()).containsEntry(3, State.LIMITED);
    assertThat(world.seconds("uudu", 2)).containsExactly(3);
    assertThat(new World(policy(0, 9), 3).seconds("ddd", 9)).as("one is left").hasSize(2);
  }

  @Test
  void withWithdrawalTheLastGoesToo() {
    World world = new World(new Policy(0, 3, true, false), 3);
    assertThat(world.seconds("ddd", 1)).containsExactly(1, 2, 3);
    world.seconds("udd", 1);
    world.seconds("ddd", 1);
    assertThat(world.out()).containsExactly(1, 2, 3);
    assertThat(world.seconds("udd", 1)).as("no hold-down: nothing serves").containsExactly(2, 3);
  }

  @Test
  void aHeldOneIsLeftAlone() {
    World world = new World(policy(50, 2), 4);
    world.held.add(2);
    assertThat(world.seconds("uduu", 10)).isEmpty();
    assertThat(world.last.states()).containsEntry(2, State.HELD);
    world.held.clear();
    assertThat(world.seconds("uduu", 1)).containsExactly(2);
    world.held.add(2);
    assertThat(world.seconds("uduu", 1)).isEmpty();
  }

  @Test
  void aSilentOneDiesOnceItIsOut() {
    World world = new World(new Policy(50, 1, false, true), 4);
    world.silent.addAll(Set.of(2, 3));
    assertThat(world.seconds("uuuu", 5)).as("silence alone").isEmpty();
    world.seconds("uddu", 1);
    assertThat(world.dead()).as("not in the second in which it goes out").isEmpty();
    world.seconds("uddu", 10);
    assertThat(world.last.states()).containsEntry(2, State.DEAD).containsEntry(3, State.LIMITED);
    assertThat(world.dead()).as("no more than may be out").containsExactly(2);
    assertThat(world.last.dead()).as("once").isEmpty();
    world.silent.clear();
    assertThat(world.seconds("u?du", 900)).as("until it is up").containsExactly(2);
    assertThat(world.seconds("uudu", 1)).doesNotContain(2);
    world.seconds("uduu", 2);
    assertThat(world.dead()).as("the next outage begins again").isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"false, uduu, , 2", "true, uddd, , 2", "true, uduu, 2, "})
  void nobodyDiesWithoutConsentInPanicOrHeld(
      boolean isAllowed, String verdicts, Integer held, Integer out) {
    World world = new World(new Policy(50, 3, false, isAllowed), 4);
    world.silent.addAll(Set.of(1, 2, 3, 4));
    if (held != null) {
      world.held.add(held);
    }
    world.policy = new Policy(50, 3, false, false);
    world.seconds("uduu", 1);
    world.policy = new Policy(50, 3, false, isAllowed);
    world.seconds(verdicts, 3);
    assertThat(world.out()).isEqualTo(out == null ? Set.of() : Set.of(out));
    assertThat(world.dead()).isEmpty();
  }

  @Test
  void aNewLeaderAndSilenceChangeNothing() {
    World world = new World(policy(50, 2), 4);
    world.seconds("uduu", 1);
    world.seconds("uuuu", 1);
    world.seconds("uduu", 10);
    world.memory = Memory.NONE;
    assertThat(world.seconds("????", 1000)).containsExactly(2);
    world.seconds("uuuu", 20);
    world.memory = Memory.NONE;
    assertThat(world.seconds("uuuu", 30)).as("the hold-down begins again").containsExactly(2);
    assertThat(world.seconds("uuuu", 1)).isEmpty();
  }

  /** What the documentation says, from the verdicts and outages of every second so far. */
  private static final class Oracle {
    private final List<SortedMap<Integer, Backend>> past = new ArrayList<>();
    private final List<Boolean> panics = new ArrayList<>();
    private final Policy policy;

    Oracle(Policy policy) {
      this.policy = policy;
    }

    private boolean isReady(int second, int id) {
      Backend backend = past.get(second).get(id);
      if (!backend.isOut() || backend.verdict() != Verdict.UP) {
        return false;
      }
      if (past.get(second).values().stream().allMatch(Backend::isOut)) {
        return true;
      }
      int first = second;
      while (first > 0
          && past.get(first - 1).get(id).isOut()
          && past.get(first - 1).get(id).verdict() == Verdict.UP
          && past.get(first - 1)
              .get(id)
              .outage()
              .map(Outage::since)
              .equals(backend.outage().map(Outage::since))) {
        first--;
      }
      return second - first >= HealthDecision.hold(backend.outage().orElseThrow().times());
    }

    private boolean isBelow(int second) {
      int healthy = 0;
      for (var each : past.get(second).entrySet()) {
        Backend backend = each.getValue();
        boolean isIll =
            backend.isOut() ? !isReady(second, each.getKey()) : backend.verdict() == Verdict.DOWN;
        if (backend.held() || !isIll) {
          healthy++;
        }
      }
      return 100.0 * healthy / past.get(second).size() < policy.panicPercent();
    }

    private boolean isPanic() {
      int now = past.size() - 1;
      boolean was = now > 0 && panics.get(now - 1);
      boolean isBelow = isBelow(now);
      for (int second = now; second >= 0 && second >= now - (was ? 30 : 5); second--) {
        if (isBelow(second) != isBelow) {
          return was;
        }
      }
      boolean isLong = now >= (was ? 30 : 5);
      return was ? isBelow || !isLong : isBelow && isLong;
    }

    /** What has died in this second: it is out before and after, and was not dead. */
    Set<Integer> dead(Set<Integer> out) {
      int now = past.size() - 1;
      Set<Integer> dead = new TreeSet<>();
      past.get(now)
          .forEach(
              (id, backend) -> {
                boolean isNew = backend.isOut() && backend.outage().orElseThrow().dead().isEmpty();
                if (policy.dead() && backend.silent() && isNew && out.contains(id)) {
                  dead.add(id);
                }
              });
      return panics.get(now) || isBelow(now) ? Set.of() : dead;
    }

    /** What is out afterwards. */
    Set<Integer> second(SortedMap<Integer, Backend> backends) {
      past.add(backends);
      int now = past.size() - 1;
      boolean isPanic = isPanic();
      panics.add(isPanic);
      Set<Integer> out = new TreeSet<>();
      for (var each : backends.entrySet()) {
        boolean isBack = isPanic || each.getValue().held() || isReady(now, each.getKey());
        if (each.getValue().isOut() && !isBack) {
          out.add(each.getKey());
        }
      }
      int most =
          policy.withdraw() ? backends.size() : Math.min(policy.limit(), backends.size() - 1);
      for (var each : backends.entrySet()) {
        Backend backend = each.getValue();
        if (!isPanic
            && !isBelow(now)
            && !backend.isOut()
            && !backend.held()
            && backend.verdict() == Verdict.DOWN
            && out.size() < most) {
          out.add(each.getKey());
        }
      }
      return out;
    }
  }

  @Property(tries = 300)
  void decidesAsTheOracle(@ForAll long seed, @ForAll @IntRange(min = 1, max = 6) int backends) {
    Random random = new Random(seed);
    boolean withdraw = random.nextInt(4) == 0;
    Policy policy =
        withdraw
            ? new Policy(0, backends, true, random.nextBoolean())
            : new Policy(
                random.nextInt(101), 1 + random.nextInt(backends), false, random.nextBoolean());
    World world = new World(policy, backends);
    Oracle oracle = new Oracle(policy);
    SortedMap<Integer, Verdict> verdicts = verdicts("u".repeat(backends));
    for (int second = 0; second < 250; second++) {
      double change = second % 100 < 40 ? 0.1 : 0.005;
      for (int id = 1; id <= backends; id++) {
        if (random.nextDouble() < change) {
          verdicts.put(id, Verdict.values()[random.nextInt(3)]);
        }
        if (random.nextDouble() < 0.002 && !world.held.remove(id)) {
          world.held.add(id);
        }
        if (random.nextDouble() < 0.02 && !world.silent.remove(id)) {
          world.silent.add(id);
        }
      }
      Set<Integer> wanted = oracle.second(world.backends(verdicts));
      assertThat(world.second(verdicts)).as("second %d of seed %d", second, seed).isEqualTo(wanted);
      assertThat(world.last.dead()).as("second %d", second).isEqualTo(oracle.dead(wanted));
      assertThat(wanted).containsAll(world.last.dead());
      assertThat(wanted).hasSizeLessThanOrEqualTo(withdraw ? backends : policy.limit());
      assertThat(world.memory.isPanic() && !wanted.isEmpty()).isFalse();
    }
  }
}
