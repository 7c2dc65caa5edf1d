// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.explain.Explanation;
import io.fairlead.controller.resources.explain.Flow;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a change does to connections, against `explain` before and after it. */
class ForecastTest {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;
  private static final int FLOWS = 3_000;
  private static final String CLIENT = "10.2.0.11";
  private static final String VIP = "10.99.0.1";

  private ServiceImage image;
  private ServiceImage after;
  private Set<Integer> dead = Set.of();
  private Optional<Long> began = Optional.empty();

  @BeforeEach
  void begin() {
    begin(SteeringMethod.RING);
  }

  private void begin(SteeringMethod method) {
    ServiceConfig config = ServiceRules.created(Requests.spec("web", VIP), 1, new Random(1));
    image = ServiceImage.create(config.toBuilder().steering(method).build(), NOW - 9000);
    image = plan(NOW - 9000, add(1), add(2), add(3), add(4));
  }

  private ServiceImage plan(long now, Change... changes) {
    WriteOptions options = WriteOptions.COMMIT.with(WriteOptions.OnLoss.FORCE);
    return PoolPlan.of(image, Arrays.asList(changes), ofEpochSecond(now), options).after();
  }

  private static FlowRecord flow(int port, long start, long end, boolean ended) {
    return new FlowRecord(
        6,
        address(CLIENT),
        port,
        address(VIP),
        80,
        start * 1000,
        end * 1000,
        3,
        0,
        true,
        ended,
        -1,
        -1);
  }

  private static Address address(String text) {
    return Address.parse(text).orElseThrow();
  }

  /** Of connections from ports 1000 on that began and ended then. */
  private FlowTable table(long start, long end, boolean ended) {
    FlowTable table = new FlowTable(image.config());
    IntStream.range(1000, 1000 + FLOWS).forEach(port -> table.take(flow(port, start, end, ended)));
    assertThat(table.size()).isEqualTo(FLOWS);
    return table;
  }

  private Forecast forecast(FlowTable table, double share) {
    Forecast forecast =
        new Forecast(
            image, after, dead, NOW * 1000, new Forecast.Assumptions(60_000, share, began));
    table.forEach(forecast);
    return forecast;
  }

  private Explanation explain(ServiceImage of, int port) {
    return Explanation.of(
        of,
        Optional.empty(),
        new Flow("tcp", CLIENT, port, VIP, 80),
        new FakeConnections(),
        new SettledMoves(SettledMoves.Told.AT_ONCE),
        ofEpochSecond(NOW));
  }

  /** How many of the ports have another owner after the change, and that many per former owner. */
  private int[] moved() {
    int[] moved = new int[10];
    for (int port = 1000; port < 1000 + FLOWS; port++) {
      int before = explain(image, port).current().orElseThrow().id();
      Explanation next = explain(after, port);
      if (next.current().orElseThrow().id() != before) {
        assertThat(next.former().get(0).id()).isEqualTo(before);
        moved[before]++;
        moved[0]++;
      }
    }
    return moved;
  }

  @Test
  void connectionsOfBucketsThatMoveAreChainedOnce() {
    after = plan(NOW, weight(1, 0));
    Forecast forecast = forecast(table(NOW - 100, NOW, false), 0);
    int[] moved = moved();
    assertThat(moved[0]).isBetween(FLOWS / 5, FLOWS / 3).isEqualTo(moved[1]);
    Forecast.Tally tally = forecast.tally();
    assertThat(tally.open).isEqualTo(FLOWS);
    assertThat(tally.moved).isEqualTo(moved[0]).isEqualTo(forecast.hops()[1]);
    assertThat(forecast.hops()[0]).isEqualTo(FLOWS - moved[0]);
    assertThat(tally.has[1]).isEqualTo(tally.chained[1]).isEqualTo(moved[0]);
    assertThat(tally.arrivingBefore[1]).isEqualTo(moved[0]);
    assertThat(tally.arrivingAfter[1]).isZero();
    assertThat(tally.passing[2] + tally.passing[3] + tally.passing[4]).isEqualTo(moved[0]);
    assertThat(tally.newBefore[1]).isEqualTo(moved[0]);
    assertThat(tally.newAfter[1]).isZero();
    assertThat(tally.packetsBefore[1]).isEqualTo(3.0 * moved[0]);
    assertThat(tally.dead + tally.full + tally.outlived + tally.lost).isZero();
    assertThat(forecast.notes()).isEmpty();
  }

  @Test
  void connectionsOfADeadServerBreak() {
    after = plan(NOW, new Change.Remove(1, true));
    dead = Set.of(1);
    Forecast.Tally tally = forecast(table(NOW - 100, NOW, false), 0).tally();
    assertThat(tally.dead).isEqualTo(tally.has[1]).isEqualTo(tally.broken[1]).isPositive();
    assertThat(tally.moved + tally.full).isZero();
  }

  @Test
  void aRemovedServerThatRunsKeepsItsConnections() {
    after = plan(NOW, remove(1));
    Forecast.Tally tally = forecast(table(NOW - 100, NOW, false), 0).tally();
    assertThat(tally.chained[1]).isEqualTo(tally.has[1]).isEqualTo(tally.moved).isPositive();
    assertThat(tally.dead + tally.full).isZero();
  }

  /** From when connections are, to when, whether their end is known, and what they count as. */
  @ParameterizedTest
  @CsvSource({
    "-100, 0, false, open",
    "-100, 0, true, open",
    "-100, -1, true, over",
    "-100, -60, false, open",
    "-100, -61, false, over",
    "1, 5, true, later",
    "-100, 239, true, open",
    "-100, 240, true, outlived",
  })
  void timesDecide(int start, int end, boolean ended, String what) {
    after = plan(NOW, weight(1, 0));
    Forecast forecast = forecast(table(NOW + start, NOW + end, ended), 0);
    Forecast.Tally tally = forecast.tally();
    double chained = forecast.hops()[1];
    assertThat(tally.over).isEqualTo(what.equals("over") ? FLOWS : 0);
    assertThat(tally.later).isEqualTo(what.equals("later") ? FLOWS : 0);
    assertThat(tally.outlived).isEqualTo(what.equals("outlived") ? chained : 0);
    assertThat(tally.outlivedAnyway).isZero();
    assertThat(chained > 0).isEqualTo(!what.equals("over") && !what.equals("later"));
  }

  @Test
  void connectionsBelongToTheOwnerOfTheirBeginning() {
    image = plan(NOW - 50, weight(1, 0));
    after = plan(NOW, weight(1, 100));
    Forecast.Tally old = forecast(table(NOW - 51, NOW, false), 0).tally();
    Forecast.Tally young = forecast(table(NOW - 50, NOW, false), 0).tally();
    assertThat(old.has[1]).isPositive();
    assertThat(young.has[1]).isZero();
    long home =
        IntStream.range(1000, 1000 + FLOWS)
            .filter(port -> explain(after, port).current().orElseThrow().id() == 1)
            .filter(port -> explain(image, port).former().stream().anyMatch(f -> f.id() == 1))
            .count();
    assertThat(old.chained[1]).isEqualTo(old.has[1] - home);
    assertThat(young.moved).isPositive();
  }

  /** A recording without the beginning of connections does not say which of two owners has them. */
  @Test
  void whoHasAConnectionOfUnknownAgeIsNotKnown() {
    image = plan(NOW - 50, weight(1, 0));
    after = plan(NOW, weight(2, 0));
    FlowTable table = new FlowTable(image.config());
    for (int port = 1000; port < 1000 + FLOWS; port++) {
      FlowRecord flow = flow(port, NOW - 10, NOW, false);
      table.take(
          new FlowRecord(
              6,
              flow.source(),
              port,
              flow.destination(),
              80,
              flow.start(),
              flow.end(),
              1,
              0,
              false,
              false,
              -1,
              -1));
    }
    long moved =
        IntStream.range(1000, 1000 + FLOWS)
            .filter(port -> !explain(image, port).former().isEmpty())
            .count();
    Forecast unknown = forecast(table, 0);
    assertThat(unknown.tally().uncertain).isEqualTo(moved).isPositive();
    assertThat(unknown.tally().has[1]).isZero();
    assertThat(unknown.notes()).hasSize(1).allMatch(note -> note.contains("--began"));
    began = Optional.of((NOW - 60) * 1000);
    Forecast dated = forecast(table, 0);
    assertThat(dated.tally().uncertain).isZero();
    assertThat(dated.tally().has[1]).isEqualTo(moved);
    assertThat(dated.notes()).isEmpty();
  }

  /**
   * All buckets move from 1 to 7, a second each, which fills their lists, and by the change to 8.
   */
  @Test
  void fullListsLoseTheOldest() {
    image = plan(NOW - 5000, weight(2, 0), weight(3, 0), weight(4, 0), idle(5), idle(6));
    image = plan(NOW - 4000, idle(7), idle(8));
    for (int id = 1; id < 7; id++) {
      image = plan(NOW - 100 + id, weight(id, 0), weight(id + 1, 100));
    }
    after = plan(NOW, weight(7, 0), weight(8, 100));
    Forecast first = forecast(table(NOW - 200, NOW, false), 0);
    assertThat(first.tally().full).isEqualTo(first.tally().broken[1]).isEqualTo(FLOWS);
    Forecast fourth = forecast(table(NOW - 97, NOW, false), 0);
    assertThat(fourth.hops()[4]).isEqualTo(fourth.tally().chained[4]).isEqualTo(FLOWS);
    assertThat(fourth.tally().moved).isZero();
    assertThat(fourth.tally().passing[8]).isEqualTo(fourth.tally().passing[5]).isEqualTo(FLOWS);
    assertThat(fourth.tally().full + fourth.tally().passing[4]).isZero();
  }

  private static Change idle(int id) {
    return new Change.Add(id, "10.1.0.%d".formatted(20 + id), 0);
  }

  @ParameterizedTest
  @CsvSource({"HUNT, 0", "HUNT, 1", "HUNT, 0.25", "MAAT, 0.5"})
  void twoBucketsAreCountedInShares(SteeringMethod method, double share) {
    begin(method);
    after = plan(NOW, weight(1, 0));
    Forecast forecast = forecast(table(NOW - 100, NOW, false), share);
    Forecast.Tally tally = forecast.tally();
    double places = Arrays.stream(forecast.hops()).sum() + tally.either;
    assertThat(places).isCloseTo(FLOWS, org.assertj.core.api.Assertions.within(1e-6));
    assertThat(forecast.notes()).hasSize(1).allMatch(note -> note.startsWith(method.word() + ": "));
    if (method == SteeringMethod.HUNT && share == 0) {
      // the second's owner is tried before the former owner of the first
      assertThat(forecast.hops()[2]).isPositive();
      assertThat(tally.moved).isEqualTo(tally.chained[1]).isEqualTo(tally.has[1]);
    }
    if (method == SteeringMethod.HUNT && share == 1) {
      assertThat(tally.moved).isLessThan(tally.chained[1] + tally.chained[2] + tally.chained[3]);
    }
    if (method == SteeringMethod.MAAT) {
      assertThat(tally.either).isPositive();
    }
  }

  @Test
  void withArraysOnlySampledConnectionsHaveABucket() {
    begin(SteeringMethod.OTHELLO);
    after = plan(NOW, weight(1, 0));
    FlowTable table = table(NOW - 100, NOW, false);
    assertThat(forecast(table, 0).tally().unknown).isEqualTo(FLOWS);
    int bucket =
        IntStream.range(0, 256).filter(b -> image.ring().current(b) == 1).findFirst().orElseThrow();
    FlowRecord plain = flow(1000, NOW - 100, NOW, false);
    table.take(
        new FlowRecord(
            6,
            plain.source(),
            1000,
            plain.destination(),
            80,
            plain.start(),
            plain.end(),
            1,
            0,
            true,
            false,
            bucket,
            -1));
    table.take(
        new FlowRecord(
            6,
            plain.source(),
            1001,
            plain.destination(),
            80,
            plain.start(),
            plain.end(),
            1,
            0,
            true,
            false,
            1 << 22,
            -1));
    Forecast forecast = forecast(table, 0);
    assertThat(forecast.tally().unknown).isEqualTo(FLOWS - 1);
    assertThat(forecast.tally().chained[1]).isEqualTo(1);
    assertThat(table.otherBuckets()).isEqualTo(1);
  }

  @Test
  void aRecordingThatIsOlderIsTakenAsIfItWasNow() {
    after = plan(NOW, weight(1, 0));
    FlowTable table = table(NOW - 100_100, NOW - 100_000, false);
    Forecast forecast =
        new Forecast(
            image, after, dead, (NOW - 100_000) * 1000, new Forecast.Assumptions(60_000, 0, began));
    table.forEach(forecast);
    assertThat(forecast.tally().moved).isPositive();
    assertThat(forecast.notes()).anyMatch(note -> note.startsWith("The recording is older"));
  }

  @Test
  void aConnectionWithManyRecordsCountsOnce() {
    FlowTable table = new FlowTable(image.config());
    table.take(flow(1000, NOW, NOW + 5, false));
    table.take(flow(1000, NOW - 5, NOW + 1, true));
    table.take(flow(1001, NOW, NOW, false));
    FlowRecord other = flow(1000, NOW, NOW, false);
    table.take(
        new FlowRecord(
            6,
            other.source(),
            1000,
            address("10.99.0.2"),
            80,
            NOW,
            NOW,
            1,
            0,
            true,
            false,
            -1,
            -1));
    table.take(
        new FlowRecord(
            17,
            other.source(),
            1000,
            other.destination(),
            80,
            NOW,
            NOW,
            1,
            0,
            true,
            false,
            -1,
            -1));
    assertThat(table.size()).isEqualTo(2);
    assertThat(table.records()).isEqualTo(3);
    assertThat(table.others()).isEqualTo(2);
    assertThat(table.last()).isEqualTo((NOW + 5) * 1000);
    table.forEach(
        connection -> {
          boolean isMany = connection.start() == (NOW - 5) * 1000;
          assertThat(connection.end()).isEqualTo((isMany ? NOW + 5 : NOW) * 1000);
          assertThat(connection.ended()).isEqualTo(isMany);
          assertThat(connection.packets()).isEqualTo(isMany ? 6 : 3);
        });
  }

  /** Exporters may say any number, and a connection may have many records. */
  @Test
  void numbersOfPacketsAreBounded() {
    FlowTable table = new FlowTable(image.config());
    FlowRecord flow = flow(1000, NOW, NOW, false);
    for (int i = 0; i < 3; i++) {
      table.take(
          new FlowRecord(
              6,
              flow.source(),
              1000,
              flow.destination(),
              80,
              NOW,
              NOW,
              Long.MAX_VALUE,
              0,
              true,
              false,
              -1,
              -1));
    }
    table.forEach(connection -> assertThat(connection.packets()).isEqualTo(Integer.MAX_VALUE));
  }

  @Test
  void aTableHasABound() {
    FlowTable table = new FlowTable(image.config(), 5_000);
    IntStream.range(1000, 6000).forEach(port -> table.take(flow(port, NOW, NOW, false)));
    table.take(flow(1000, NOW, NOW, false));
    assertThatThrownBy(() -> table.take(flow(6000, NOW, NOW, false)))
        .isInstanceOf(FlowTable.FullException.class)
        .hasMessage(
            "it has more than 5000 connections of the service; allowed: a shorter recording");
  }
}
