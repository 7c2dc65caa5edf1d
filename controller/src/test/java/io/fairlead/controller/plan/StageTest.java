// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Stage;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.Stages;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Staged changes step by step, as plans on images with the test's own time. */
class StageTest {
  private static final long NOW = 1_700_000_000;
  private static final WriteOptions STAGED = staged("1%,10%,100%");

  private long now = NOW;
  private ServiceImage image = image(8192, Optional.empty());

  private static WriteOptions staged(String shares) {
    return WriteOptions.COMMIT.with(Optional.of(new Stages(shares, Optional.of(60))));
  }

  private static ServiceImage image(int buckets, Optional<String> stages) {
    ServiceSpec spec =
        Requests.sized("web", "10.99.0.1", buckets).toBuilder()
            .slowStartSeconds(200)
            .stageSettings(
                new ServiceSpec.StageSettings(
                    stages, Optional.empty(), Optional.empty(), Optional.empty()))
            .build();
    return ServiceImage.create(ServiceRules.created(spec, 1, new Random(1)), NOW);
  }

  private PoolPlan change(WriteOptions options, Change... changes) {
    PoolPlan plan = PoolPlan.of(image, List.of(changes), ofEpochSecond(now), options);
    image = plan.after();
    return plan;
  }

  /** So many active backends from 1 on, each with its share. */
  private void pool(int backends) {
    change(
        WriteOptions.COMMIT,
        IntStream.rangeClosed(1, backends)
            .mapToObj(id -> new Change.Add(id, "10.1.0." + id, 100))
            .toArray(Change[]::new));
    now += 1000;
  }

  private PoolPlan advance() {
    now += 60;
    PoolPlan plan = PoolPlan.advanced(image, "quiet", ofEpochSecond(now), WriteOptions.COMMIT);
    image = plan.after();
    return plan;
  }

  private PoolPlan rollBack() {
    now += 5;
    PoolPlan plan = PoolPlan.rolledBack(image, "resets", ofEpochSecond(now), WriteOptions.COMMIT);
    image = plan.after();
    return plan;
  }

  private Stage stage() {
    return image.transitions().stage().orElseThrow();
  }

  private int owned(int id) {
    return image.ring().owned()[id];
  }

  private static SortedMap<Integer, Integer> weights(ServiceImage image) {
    SortedMap<Integer, Integer> weights = new TreeMap<>();
    image.pool().values().forEach(member -> weights.put(member.id(), member.weight()));
    return weights;
  }

  @Test
  void aChangeMovesItsSharesAndEnds() {
    pool(3);
    PoolPlan first = change(STAGED, add(4));
    assertThat(owned(4)).as("1 %% of 2048").isEqualTo(20);
    assertThat(image.pool().get(4).weight()).as("the operator's weight").isEqualTo(100);
    assertThat(image.transitions().slowStarts()).as("no slow start beside it").isEmpty();
    assertThat(first.result().staging().orElseThrow().share()).isEqualTo(0.01);
    assertThat(stage().due()).isEqualTo(now + 60);
    assertThat(advance().result().movedBuckets()).isEqualTo(204 - 20);
    assertThat(owned(4)).isEqualTo(204);
    advance();
    assertThat(owned(4)).isEqualTo(2048);
    assertThat(stage().isRunning()).as("all of it bakes, too").isTrue();
    ServiceImage before = image;
    PoolPlan last = advance();
    assertThat(last.isEmpty(before)).as("though no bucket moves").isFalse();
    assertThat(last.result().movedBuckets()).isZero();
    assertThat(last.result().staging().orElseThrow().state()).isEqualTo("done");
    assertThat(stage().end().orElseThrow().why()).isEqualTo("quiet");
    assertThat(change(WriteOptions.COMMIT, weight(4, 50)).result().staging()).isEmpty();
    assertThatThrownBy(this::advance)
        .isInstanceOf(Refusal.class)
        .hasMessageContaining("a service with a staged change");
  }

  @Test
  void aRollbackDrainsWhatIsNewAndRestoresWeights() {
    pool(3);
    int[] before = image.ring().owned();
    change(STAGED, add(4), weight(2, 300));
    advance();
    assertThat(owned(4)).isPositive();
    rollBack();
    assertThat(weights(image)).isEqualTo(new TreeMap<>(Map.of(1, 100, 2, 100, 3, 100, 4, 0)));
    assertThat(image.ring().owned()).isEqualTo(before);
    Drain drain = image.transitions().drains().get(4);
    assertThat(drain.weight()).as("that an undrain gives").isEqualTo(100);
    assertThat(drain.isRunning()).isTrue();
    assertThat(stage().end().orElseThrow().outcome()).isEqualTo(Stage.Outcome.ROLLED_BACK);
    PoolPlan again = PoolPlan.undrain(image, List.of(4), ofEpochSecond(now), WriteOptions.COMMIT);
    assertThat(again.after().ring().owned()[4]).isEqualTo(2048);
  }

  @Test
  void aBackendReturnsFromItsDrainInSteps() {
    pool(3);
    change(WriteOptions.COMMIT, weight(3, 0));
    change(STAGED, weight(3, 100));
    assertThat(owned(3)).isEqualTo((int) (8192 / 3.0 / 100));
    rollBack();
    assertThat(image.pool().get(3).weight()).isZero();
    assertThat(image.transitions().drains()).containsKey(3);
  }

  /** What contradicts a staged change is refused, and what takes traffic away is not. */
  @Test
  void othersWaitForTheEnd() {
    pool(3);
    change(STAGED, add(4));
    for (Change each : List.of(weight(4, 50), weight(4, 200))) {
      assertThatThrownBy(() -> change(WriteOptions.COMMIT, each))
          .isInstanceOf(Refusal.class)
          .hasMessageContaining("while one is staged (backend 4 at 1 % of it moved)")
          .hasMessageContaining("fairleadctl stage rollback web");
    }
    assertThatThrownBy(() -> change(STAGED, add(5)))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining("stage 'a second change'");
    change(staged("100%"), new Change.Add(5, "10.1.0.5", 100, Optional.of(0)));
    assertThat(owned(5)).as("at once").isBetween(2030, 2048);
    assertThat(owned(4)).as("still 1 %").isBetween(15, 17);
    change(WriteOptions.COMMIT, remove(4));
    assertThat(stage().end().orElseThrow().outcome()).isEqualTo(Stage.Outcome.EMPTY);
    assertThat(change(STAGED, add(6)).result().staging()).isPresent();
  }

  @Test
  void aDrainEndsTheSteps() {
    pool(3);
    change(STAGED, add(4));
    DrainOrder order = new DrainOrder(List.of(4), Optional.empty(), Drain.Then.KEEP);
    image = PoolPlan.drain(image, order, ofEpochSecond(now), WriteOptions.COMMIT).after();
    assertThat(owned(4)).isZero();
    assertThat(stage().end().orElseThrow().outcome()).isEqualTo(Stage.Outcome.EMPTY);
  }

  @Test
  void healthTakesAStagedBackendOutAndBringsItBackToItsShare() {
    pool(3);
    change(STAGED, add(4));
    health(out(4));
    assertThat(owned(4)).isZero();
    advance();
    assertThat(owned(4)).isZero();
    health(OutageRules.Order.back(new TreeSet<>(List.of(4))));
    assertThat(owned(4)).as("10 %, and of that the first step of a slow start").isPositive();
    assertThat(owned(4)).isLessThanOrEqualTo(204);
    health(out(4));
    rollBack();
    assertThat(image.pool().get(4).weight()).isZero();
    assertThat(image.transitions().health().isOut(4)).as("drained, not out").isFalse();
    assertThat(image.transitions().drains().get(4).weight()).isEqualTo(100);
  }

  @Test
  void aBackendThatStartsSlowlyGoesOnWithIt() {
    pool(3);
    change(WriteOptions.COMMIT, add(4));
    assertThat(owned(4)).as("5 % of its share").isBetween(100, 150);
    change(STAGED, weight(4, 200));
    assertThat(owned(4)).as("and at first 1 % of what the change moves").isBetween(100, 155);
    rollBack();
    assertThat(owned(4)).as("5 s of 200 later").isBetween(100, 220);
    change(STAGED, weight(4, 200));
    now += 200;
    image = PoolPlan.step(image, ofEpochSecond(now)).after();
    assertThat(owned(4)).as("1 % beyond the weight before").isBetween(2048, 2070);
    rollBack();
    assertThat(owned(4)).isBetween(2047, 2049);
  }

  @Test
  void aWeightIsStagedWhileHealthHasTheBackendOut() {
    pool(3);
    health(out(3));
    change(STAGED, weight(3, 300));
    assertThat(stage().former()).isEqualTo(new TreeMap<>(Map.of(3, 100)));
    assertThatThrownBy(() -> change(WriteOptions.COMMIT, weight(3, 50)))
        .hasMessageContaining("while one is staged");
    health(OutageRules.Order.back(new TreeSet<>(List.of(3))));
    now += 200;
    image = PoolPlan.step(image, ofEpochSecond(now)).after();
    assertThat(owned(3)).as("1 % beyond a third").isBetween(2731, 2760);
    health(out(3));
    rollBack();
    health(OutageRules.Order.back(new TreeSet<>(List.of(3))));
    assertThat(image.pool().get(3).weight()).isEqualTo(100);
  }

  private static OutageRules.Order out(int id) {
    SortedMap<Integer, String> out = new TreeMap<>();
    out.put(id, "refused");
    SortedSet<Integer> none = new TreeSet<>();
    return new OutageRules.Order(out, none, none, none);
  }

  private void health(OutageRules.Order order) {
    image = PoolPlan.health(image, order, ofEpochSecond(++now), WriteOptions.COMMIT).after();
  }

  @Test
  void theFirstBackendsAndRemovalsTakeEffectAtOnce() {
    change(STAGED, add(1), add(2));
    assertThat(image.transitions().stage()).isEmpty();
    assertThat(owned(1)).isEqualTo(4096);
    PoolPlan plan = change(STAGED, weight(2, 0));
    assertThat(owned(2)).isZero();
    assertThat(plan.result().staging()).isEmpty();
  }

  @Test
  void aServiceMayStageEveryChange() {
    image = image(8192, Optional.of("5%,100%"));
    pool(3);
    assertThat(image.transitions().stage()).as("of the first backends").isEmpty();
    change(WriteOptions.COMMIT, weight(1, 200));
    assertThat(stage().shares()).containsExactly(50, 1000);
    advance();
    advance();
    change(staged("100"), weight(1, 100));
    assertThat(stage().isRunning()).as("at once").isFalse();
    assertThat(owned(1)).isBetween(2730, 2731);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "100",
        "1",
        "10,1,100",
        "1,1,100",
        "0,100",
        "1,101",
        "1%;100%",
        "1.25,100",
        "-1,100",
        "1,2,3,4,5,6,7,8,9,10,100",
        "x",
        "1,,100",
        "100,100"
      })
  void textsOfStepsAreChecked(String text) {
    assertThat(Stage.Steps.parse(text, 60).isPresent()).isEqualTo(text.equals("100"));
  }

  @Test
  void decimalsAreTenthsOfAPercent() {
    assertThat(Stage.Steps.parse("0.1%, 1.5 ,33,100%", 60).orElseThrow().shares())
        .containsExactly(1, 15, 330, 1000);
  }

  /** The stage of a pool of one backend moves one bucket at least, of small rings, too. */
  @ParameterizedTest
  @CsvSource({"256, 20", "256, 100", "1024, 50", "8192, 10"})
  void oneBucketMovesAtLeast(int buckets, int backends) {
    image = image(buckets, Optional.empty());
    pool(backends);
    change(staged("0.1,100"), add(backends + 1));
    assertThat(owned(backends + 1)).isBetween(1, Math.max(1, buckets / backends / 1000 + 1));
  }

  /**
   * No share is exceeded by more than rounding, each step moves only what it lacks, the end is that
   * of a change at once, and a rollback from any step restores weights and shares.
   */
  @Property(tries = 60)
  void sharesAreKeptAndARollbackRestores(
      @ForAll Random random,
      @ForAll @IntRange(min = 2, max = 30) int backends,
      @ForAll @IntRange(min = 0, max = 3) int steps) {
    image = image(8192, Optional.empty());
    now = NOW;
    List<Change> pool = new ArrayList<>();
    for (int id = 1; id <= backends; id++) {
      pool.add(new Change.Add(id, "10.1.0." + id, 1 + random.nextInt(200)));
    }
    change(WriteOptions.COMMIT, pool.toArray(Change[]::new));
    now += 1000;
    List<Change> changes = new ArrayList<>();
    for (int id = 1; id <= backends; id++) {
      if (random.nextInt(4) == 0) {
        changes.add(weight(id, 1 + random.nextInt(1000)));
      }
    }
    changes.add(
        new Change.Add(backends + 1, "10.1.0.99", 1 + random.nextInt(1000), Optional.of(0)));
    ServiceImage before = image;
    int[] was = before.ring().owned();
    int[] at =
        PoolPlan.of(before, changes, ofEpochSecond(now), staged("100")).after().ring().owned();
    change(STAGED, changes.toArray(Change[]::new));
    for (int step = 0; step <= steps; step++) {
      if (step > 0) {
        advance();
      }
      double share = stage().share() / 1000.0;
      int[] owned = image.ring().owned();
      for (int id : image.pool().keySet()) {
        double most = Math.max(1.01, share * Math.abs(at[id] - was[id])) + 1.5;
        assertThat(Math.abs(owned[id] - was[id])).isLessThanOrEqualTo((int) Math.ceil(most));
        if (share == 1) {
          assertThat(owned[id]).isBetween(at[id] - 1, at[id] + 1);
        }
      }
    }
    if (stage().isRunning()) {
      rollBack();
      int[] owned = image.ring().owned();
      before
          .pool()
          .forEach(
              (id, member) -> {
                assertThat(image.pool().get(id)).isEqualTo(member);
                assertThat(owned[id]).isBetween(was[id] - 1, was[id] + 1);
              });
      assertThat(owned[backends + 1]).isZero();
    }
  }
}
