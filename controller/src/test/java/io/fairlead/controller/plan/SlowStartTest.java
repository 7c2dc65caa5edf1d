// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.ServiceImage.Member;
import io.fairlead.controller.core.image.Transitions.SlowStart;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Slow starts step by step, as plans on images with the test's own time. */
class SlowStartTest {
  private static final long NOW = 1_700_000_000;

  private long now = NOW;
  private ServiceImage image = image(0, 1024);

  private static ServiceImage image(int slowStartSeconds, int buckets) {
    ServiceSpec spec =
        Requests.sized("web", "10.99.0.1", buckets).toBuilder()
            .slowStartSeconds(slowStartSeconds)
            .build();
    return ServiceImage.create(ServiceRules.created(spec, 1, new Random(1)), NOW);
  }

  private static Change slow(int id, int weight, int seconds) {
    return new Change.Add(id, "10.1.0." + id, weight, Optional.of(seconds));
  }

  private PoolPlan change(Change... changes) {
    PoolPlan plan = PoolPlan.of(image, List.of(changes), ofEpochSecond(now), WriteOptions.COMMIT);
    image = plan.after();
    return plan;
  }

  /** Advances to when the next step is due, if one is. */
  private PoolPlan step() {
    long due = image.transitions().due();
    now = due == Long.MAX_VALUE ? now : Math.max(now, due);
    PoolPlan plan = PoolPlan.step(image, ofEpochSecond(now));
    image = plan.after();
    return plan;
  }

  private int owned(int id) {
    return image.ring().owned()[id];
  }

  private static int moved(ServiceImage before, ServiceImage after) {
    return (int)
        IntStream.range(0, before.ring().buckets())
            .filter(bucket -> before.ring().current(bucket) != after.ring().current(bucket))
            .count();
  }

  @Test
  void aShareGrowsLinearlyInStepsThatMoveOnlyWhatIsMissing() {
    change(add(1), add(2), add(3));
    now += 1000;
    change(slow(4, 100, 200));
    assertThat(image.pool().get(4).weight()).as("the operator's weight").isEqualTo(100);
    List<Integer> shares = new ArrayList<>(List.of(owned(4)));
    List<Long> times = new ArrayList<>(List.of(now));
    while (!image.transitions().slowStarts().isEmpty()) {
      int before = owned(4);
      PoolPlan plan = step();
      assertThat(plan.result().movedBuckets()).isEqualTo(owned(4) - before).isPositive();
      shares.add(owned(4));
      times.add(now);
    }
    assertThat(shares).hasSize(21).first().isEqualTo(1024 * 5 / 305);
    assertThat(shares).last().isEqualTo(256);
    assertThat(shares.get(10)).as("half of the way").isEqualTo((int) (1024 * 52.5 / 352.5));
    assertThat(times).last().isEqualTo(times.get(0) + 200);
  }

  @Test
  void aBackendOfWeightOneHasFinerStepsThanItsWeight() {
    image = image(0, 16384);
    change(new Change.Add(1, "10.1.0.1", 1), new Change.Add(2, "10.1.0.2", 1));
    now += 1000;
    change(slow(3, 1, 10));
    int before = 0;
    for (int second = 0; second <= 10; second++) {
      assertThat(owned(3)).as("after %d s", second).isGreaterThan(before);
      before = owned(3);
      step();
    }
    assertThat(owned(3)).isEqualTo(5461);
    assertThat(image.transitions().slowStarts()).isEmpty();
  }

  @Test
  void stepsOfSeveralBackendsAreOne() {
    change(add(1), add(2));
    now += 1000;
    change(slow(3, 100, 200));
    now += 3;
    change(slow(4, 100, 400));
    int steps = 0;
    while (!image.transitions().slowStarts().isEmpty()) {
      step();
      steps++;
    }
    // Every 10 s until the first has ended, at its end, every 20 s until the second's.
    assertThat(steps).isEqualTo(19 + 1 + 11);
    assertThat(List.of(owned(1), owned(2), owned(3), owned(4))).containsOnly(256);
  }

  @Test
  void aWeightSetByHandCountsAtOnceAndARepeatedPutEndsNothing() {
    change(add(1), add(2), add(3));
    now += 1000;
    Change.Put put = new Change.Put(4, "10.1.0.4", 100, Optional.of(600), false);
    change(put);
    int first = owned(4);
    now += 100;
    PoolPlan again = PoolPlan.of(image, List.of(put), ofEpochSecond(now), WriteOptions.COMMIT);
    assertThat(again.isEmpty(image)).isTrue();
    change(weight(1, 101));
    assertThat(owned(4)).as("another change takes a step with it").isGreaterThan(2 * first);
    PoolPlan same = change(weight(4, 100));
    assertThat(same.isEmpty(image)).isFalse();
    assertThat(owned(4)).isBetween(255, 256);
    assertThat(image.transitions().slowStarts()).isEmpty();
    now += 1000;
    change(remove(4));
    now += 1000;
    change(slow(4, 100, 600));
    change(weight(4, 0));
    assertThat(owned(4)).isZero();
    assertThat(image.transitions().slowStarts()).isEmpty();
    change(remove(4));
    assertThat(image.transitions().due()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void theServiceSaysHowSlowlyUnlessTheAdditionDoes() {
    image = image(60, 1024);
    change(add(1), add(2));
    assertThat(image.transitions().slowStarts()).as("no backend to take from").isEmpty();
    change(weight(1, 0), weight(2, 0));
    change(add(3));
    assertThat(image.transitions().slowStarts()).as("all others drain").isEmpty();
    now += 1000;
    change(add(4), slow(5, 100, 0), slow(6, 100, 120), slow(7, 0, 120));
    assertThat(image.transitions().slowStarts())
        .containsOnly(
            java.util.Map.entry(4, new SlowStart(now, 60, 50)),
            java.util.Map.entry(6, new SlowStart(now, 120, 50)));
  }

  @Test
  void aStepKeepsFullBucketsUntilTheyHaveRoom() {
    change(add(1));
    now += 1000;
    change(slow(9, 100, 60));
    int first = owned(9);
    for (int id = 2; id <= 7; id++) {
      change(add(id), weight(id - 1, 0));
    }
    assertThat(owned(9)).isBetween(first, first + 1);
    long started = now;
    while (!image.transitions().slowStarts().isEmpty()) {
      PoolPlan plan = step();
      assertThat(plan.result().owners().lostBuckets()).isZero();
      assertThat(now).isLessThan(started + 400);
    }
    assertThat(now).isGreaterThanOrEqualTo(started + 240);
    assertThat(List.of(owned(7), owned(9))).containsOnly(512);
  }

  @Test
  void whatMakesNoSenseIsRefused() {
    change(add(1));
    for (int seconds : new int[] {-1, 1, 9, 86_401}) {
      assertThatThrownBy(() -> change(slow(2, 100, seconds)))
          .isInstanceOf(Refusal.class)
          .hasMessage("slowStartSeconds '%d' is refused; allowed: 0, or 10..86400", seconds);
    }
    ServiceSpec maglev = ServiceSpec.builder().assignment("maglev").slowStartSeconds(60).build();
    assertThatThrownBy(() -> ServiceRules.changed(image.config(), maglev))
        .hasMessageContaining(
            "slowStartSeconds '60' is refused; allowed: 0 with assignment maglev");
    List<Change> many =
        IntStream.rangeClosed(2, 2050)
            .<Change>mapToObj(
                id ->
                    new Change.Add(
                        id, "10.2.%d.%d".formatted(id / 256, id % 256), 1, Optional.of(60)))
            .toList();
    assertThatThrownBy(() -> PoolPlan.of(image, many, ofEpochSecond(now), WriteOptions.COMMIT))
        .hasMessageContaining("2049 backends that start slowly")
        .hasMessageContaining("at most 2048 at once");
  }

  /** Shares of the buckets by weights and time alone. */
  private static double ideal(ServiceImage image, int id, long now) {
    double total = 0;
    for (Member member : image.pool().values()) {
      total += member.weight() * share(image, member.id());
    }
    return total == 0
        ? 0
        : image.ring().buckets() * image.pool().get(id).weight() * share(image, id) / total;
  }

  private static double share(ServiceImage image, int id) {
    SlowStart start = image.transitions().slowStarts().get(id);
    return start == null ? 1 : start.share() / 1000.0;
  }

  @Property(tries = 60)
  void whateverHappensEveryStepMovesOnlyWhatIsMissing(@ForAll long seed) {
    Random random = new Random(seed);
    image = image(random.nextBoolean() ? 0 : 30 + random.nextInt(300), 1024);
    now = NOW;
    change(add(1), add(2));
    TreeMap<Integer, Integer> weights = new TreeMap<>(java.util.Map.of(1, 100, 2, 100));
    for (int event = 0; event < 60; event++) {
      ServiceImage before = image;
      int id = 1 + random.nextInt(8);
      switch (random.nextInt(4)) {
        case 0 -> {
          now += 500;
          if (weights.containsKey(id)) {
            change(remove(id));
            weights.remove(id);
          } else {
            int weight = random.nextInt(4) * 50;
            change(slow(id, weight, random.nextBoolean() ? 0 : 10 + random.nextInt(500)));
            weights.put(id, weight);
          }
        }
        case 1 -> {
          now += 500;
          if (weights.containsKey(id)) {
            int weight = random.nextInt(300);
            change(weight(id, weight));
            weights.put(id, weight);
          }
        }
        default -> {
          if (!image.transitions().slowStarts().isEmpty()) {
            now += random.nextInt(20);
            step();
          }
        }
      }
      TreeMap<Integer, Integer> shown = new TreeMap<>();
      image.pool().values().forEach(member -> shown.put(member.id(), member.weight()));
      assertThat(shown).as("seed %d, event %d: weights", seed, event).isEqualTo(weights);
      int[] owned = image.ring().owned();
      int[] had = before.ring().owned();
      int missing = 0;
      for (int each = 0; each < owned.length; each++) {
        missing += Math.max(0, owned[each] - had[each]);
        if (image.pool().containsKey(each)) {
          assertThat((double) owned[each])
              .as("seed %d, event %d: buckets of backend %d", seed, event, each)
              .isBetween(ideal(image, each, now) - 1.01, ideal(image, each, now) + 1.01);
        }
      }
      assertThat(moved(before, image))
          .as("seed %d, event %d: moved", seed, event)
          .isEqualTo(missing);
    }
  }
}
