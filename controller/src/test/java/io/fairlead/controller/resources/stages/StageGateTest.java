// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.plan.OutageRules;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.resources.agents.ServerSignals;
import io.fairlead.controller.resources.agents.ServerSignals.Signals;
import io.fairlead.controller.resources.agents.SignalCounts;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.Stages;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.stages.Judgement.Kind;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What follows from signals, with the test's own. */
class StageGateTest {
  private static final long NOW = 1_700_000_000;
  private static final int BAKE = 60;

  private final Map<Integer, Signals> signals = new HashMap<>();
  private final ServerSignals reported = (service, id) -> Optional.ofNullable(signals.get(id));
  private StageGate gate = gate();
  private ServiceImage image = staged(BAKE);
  private long now = NOW;

  private StageGate gate() {
    return new StageGate(reported, AgentReports.none());
  }

  /** Backend 3 is added to two others in two steps. */
  private static ServiceImage staged(int bake) {
    Stages stages = new Stages("1,100", Optional.of(bake));
    return PoolPlan.of(
            pool(),
            List.of(add(3)),
            ofEpochSecond(NOW),
            WriteOptions.COMMIT.with(Optional.of(stages)))
        .after();
  }

  private static ServiceImage pool() {
    ServiceImage before =
        ServiceImage.create(
            ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)), NOW);
    return PoolPlan.of(before, List.of(add(1), add(2)), ofEpochSecond(NOW), WriteOptions.COMMIT)
        .after();
  }

  private Judgement look() {
    return gate.look(image, ofEpochSecond(now));
  }

  private void report(int id, long opened, long refused, long resets) {
    report(id, opened, refused, resets, 0, 0, 1);
  }

  private void report(
      int id, long opened, long refused, long resets, long again, long segments, double millis) {
    report(id, opened, refused, resets, 0, again, segments, millis);
  }

  private void report(
      int id,
      long opened,
      long refused,
      long resets,
      long received,
      long again,
      long segments,
      double millis) {
    signals.put(
        id,
        new Signals(
            new SignalCounts(
                opened,
                Optional.of(refused),
                Optional.of(resets),
                Optional.of(received),
                Optional.of(again),
                Optional.of(segments),
                Optional.of(opened),
                Optional.of((long) (opened * millis * 1000))),
            Duration.ZERO));
  }

  @Test
  void withoutSignalsOnlyTheTimeCounts() {
    report(1, 100, 0, 0); // of the others alone
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    assertThat(look().words()).contains("only the time counts");
    now += BAKE - 1;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    now++;
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
    assertThat(gate.seen(image).orElseThrow().raised()).isEmpty();
  }

  @Test
  void aStepThatIsRefusedSaysWhy() {
    look();
    now += BAKE;
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
    gate.refused(image, "lists are full");
    Judgement seen = gate.seen(image).orElseThrow();
    assertThat(seen.kind()).isEqualTo(Kind.WAITS);
    assertThat(seen.words()).endsWith("; but it is refused: lists are full");
    assertThat(look().kind()).as("it is tried again").isEqualTo(Kind.GOES_ON);
  }

  /** Counters since the step: what was before counts for nothing. */
  @ParameterizedTest(name = "{0} opened, {1} refused, {2} reset, {3} of {4} again, {5} ms: {6}")
  @CsvSource(
      delimiter = '|',
      value = {
        "0 | 0 | 0 | 0 | 0 | 1 | ",
        "3 | 0 | 1 | 0 | 0 | 1 | ", // a single reset
        "3 | 0 | 3 | 0 | 0 | 1 | 3 of 3 connections reset, of the others 2 of 1000",
        "0 | 12 | 0 | 0 | 0 | 1 | 12 of 12 connections refused, of the others 1 of 1001",
        "1000 | 0 | 5 | 0 | 0 | 1 | ", // within what is always allowed
        "1000 | 0 | 40 | 0 | 0 | 1 | 40 of 1000 connections reset, of the others 2 of 1000",
        "0 | 0 | 9 | 0 | 0 | 1 | 9 of 9 connections reset, of the others 2 of 1000", // older ones
        "100 | 0 | 0 | 29 | 100 | 1 | ", // two bursts
        "100 | 0 | 0 | 900 | 1000 | 1 | 900 of 1000 segments sent again, of the others 30 of 30000",
        "29 | 0 | 0 | 0 | 0 | 50 | ", // too few for a mean
        "30 | 0 | 0 | 0 | 0 | 6.9 | ", // twice as long and 5 ms
        "30 | 0 | 0 | 0 | 0 | 7.1 | round-trip time 7.1 ms, of the others 1.0 ms",
      })
  void aBackendThatFaresWorseFails(
      int opened, int refused, int resets, int again, int segments, double millis, String why) {
    report(1, 70, 7, 70);
    report(2, 5, 0, 5);
    report(3, 50, 50, 50, 50, 50, 1);
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    report(1, 570, 8, 71, 30, 15_000, 1);
    report(2, 505, 0, 6, 0, 15_000, 1);
    double mean = (50 + opened * millis) / (50 + opened);
    report(3, 50 + opened, 50 + refused, 50 + resets, 50 + again, 50 + segments, mean);
    now++;
    Judgement found = look();
    assertThat(found.kind()).isEqualTo(why == null ? Kind.WAITS : Kind.FAILS);
    if (why != null) {
      assertThat(found.words()).isEqualTo("backend 3: " + why);
    }
    now += BAKE;
    assertThat(look().kind()).isEqualTo(why == null ? Kind.GOES_ON : Kind.FAILS);
    assertThat(gate.seen(image).orElseThrow()).isEqualTo(look());
  }

  @Test
  void othersThatFareAsBadlyAreNoReason() {
    report(1, 0, 0, 0);
    report(3, 0, 0, 0);
    look();
    report(1, 1000, 0, 900);
    report(3, 10, 0, 10);
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
  }

  /** Each check by HTTP is a connection that the client resets, at each backend as often. */
  @Test
  void healthChecksAreNoReason() {
    for (int id : new int[] {1, 3}) {
      report(id, 0, 0, 0, 0, 0, 0, 1);
    }
    look();
    report(1, 6090, 0, 0, 90, 0, 0, 1);
    report(3, 150, 0, 0, 90, 0, 0, 1);
    now += BAKE;
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
  }

  @Test
  void tooFewEventsToRollBackHoldTheStep() {
    report(3, 0, 0, 0);
    look();
    report(3, 2, 0, 2);
    now += BAKE;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    assertThat(look().words())
        .isEqualTo(
            "backend 3: 2 of 2 connections reset, of the others 0 of 0; too few to roll back");
    report(3, 40, 0, 2);
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
  }

  @Test
  void withoutOthersTheFixedRateAloneCounts() {
    report(3, 0, 0, 0);
    look();
    report(3, 10, 0, 10);
    assertThat(look().kind()).isEqualTo(Kind.FAILS);
  }

  @Test
  void anAgentThatStartsAgainCountsFromZero() {
    report(3, 500, 0, 490);
    look();
    report(3, 4, 0, 0);
    now += BAKE;
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
    assertThat(look().raised().get(3).opened()).isEqualTo(4);
  }

  @Test
  void anAgentThatFallsSilentHoldsTheStep() {
    report(3, 0, 0, 0);
    look();
    signals.remove(3);
    now += 10L * BAKE;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    assertThat(look().words()).contains("fallen silent");
    report(3, 9, 0, 0);
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
  }

  @Test
  void aStepBakesFromTheFirstReportOn() {
    look();
    now += 40;
    report(3, 0, 0, 0);
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    now += BAKE - 1;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    now++;
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
  }

  @Test
  void aShortStepLeavesAgentsTheTimeToReport() {
    image = staged(1);
    look();
    now += 14;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    now++;
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
  }

  /** It knows no earlier counters, so it waits for a whole bake again. */
  @Test
  void aNewLeaderBeginsToCountAgain() {
    report(3, 100, 0, 100);
    now += BAKE - 1;
    gate = gate();
    assertThat(gate.seen(image)).isEmpty();
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    now += BAKE - 1;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    now++;
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
  }

  /** Its first agents report seconds after it begins to lead, when the bake may be over. */
  @Test
  void aNewLeaderLeavesAgentsTheTimeToReport() {
    report(3, 0, 0, 0);
    look();
    signals.clear();
    gate = gate();
    now += BAKE + 7;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    now += 44; // agents try every 30 s, and somewhat later
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    now++;
    assertThat(look().kind()).as("there are none").isEqualTo(Kind.GOES_ON);
    report(3, 0, 0, 0);
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    report(3, 9, 0, 9);
    assertThat(look().kind()).isEqualTo(Kind.FAILS);
  }

  /** One that has reported before a step does not speak for one that is new. */
  @Test
  void aShortStepLeavesEachAgentTheTimeToReport() {
    Stages stages = new Stages("1,100", Optional.of(1));
    WriteOptions options = WriteOptions.COMMIT.with(Optional.of(stages));
    image =
        PoolPlan.of(pool(), List.of(weight(1, 200), add(3)), ofEpochSecond(NOW), options).after();
    report(1, 0, 0, 0);
    look();
    now += 9;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    report(3, 0, 0, 0);
    look();
    report(3, 9, 0, 9);
    assertThat(look().words()).contains("9 of 9 connections reset");
  }

  /** It gets no connection that could prove it. */
  @Test
  void aBackendThatHealthTookOutHoldsTheStep() {
    report(3, 0, 0, 0);
    look();
    ServiceImage serving = image;
    SortedMap<Integer, String> out = new TreeMap<>(Map.of(3, "refused"));
    SortedSet<Integer> none = new TreeSet<>();
    image =
        PoolPlan.health(
                image,
                new OutageRules.Order(out, none, none, none),
                ofEpochSecond(now),
                WriteOptions.COMMIT)
            .after();
    now += 2 * BAKE;
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    assertThat(look().words()).isEqualTo("health took backend 3 out of service");
    image = serving;
    assertThat(look().kind()).isEqualTo(Kind.GOES_ON);
  }

  @Test
  void theLastInServiceIsNotRolledBack() {
    image =
        PoolPlan.of(image, List.of(remove(1), remove(2)), ofEpochSecond(now), WriteOptions.COMMIT)
            .after();
    report(3, 0, 0, 0);
    look();
    report(3, 9, 0, 9);
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    assertThat(look().words())
        .contains("9 of 9 connections reset")
        .endsWith("but no other backend is in service");
  }

  /** What a lying agent may report, as often as it starts again. */
  @Test
  @Timeout(10)
  void hugeNumbersTakeNoTime() {
    for (int id : List.of(1, 2, 3)) {
      report(id, 0, 0, 0);
    }
    look();
    long most = Long.MAX_VALUE;
    report(1, most, most, most, most, most, 1);
    report(2, most, most, most, most, most, 1);
    report(3, most, most / 2, most / 100 + 1, most / 2, most, 1);
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
    report(1, most, 0, most / 2);
    report(2, most, 0, most / 2);
    report(3, most, 0, most);
    assertThat(look().kind()).as("no more than twice the rate").isEqualTo(Kind.WAITS);
  }

  @Test
  void eachStepBeginsToCountAgain() {
    report(3, 0, 0, 0);
    look();
    report(3, 100, 0, 2);
    now += BAKE;
    assertThat(look().raised().get(3).opened()).isEqualTo(100);
    image = PoolPlan.advanced(image, "", ofEpochSecond(now), WriteOptions.COMMIT).after();
    assertThat(gate.seen(image)).isEmpty();
    assertThat(look().raised().get(3).opened()).isZero();
    assertThat(look().kind()).isEqualTo(Kind.WAITS);
  }
}
