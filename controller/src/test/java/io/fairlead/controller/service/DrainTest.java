// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.another;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.Drain.Reason;
import io.fairlead.controller.core.image.Drain.Then;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.backends.Reserved;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Drains on images, with the test's own time, agents and muxes. */
class DrainTest extends DrainStory {
  @Test
  void endsWhenAReportAfterAllMuxesHaveAppliedItSaysThatNothingIsLeft() {
    connections.put(2, 3L);
    muxes = List.of(mux("mux1", 2), mux("mux2", 2));
    drain(Optional.empty(), Then.REMOVE, 2);
    report();
    assertThat(work()).isEmpty();
    assertThat(watched).contains(2);
    connections.put(2, 0L);
    muxes = List.of(mux("mux1", 3), mux("mux2", 2));
    now += SETTLED;
    report();
    assertThat(work()).as("mux2 may still send it a SYN").isEmpty();
    assertThat(view(2).now().waitingFor()).containsExactly("mux2");
    muxes = List.of(mux("mux1", 3), mux("mux2", 4));
    assertThat(work()).as("the report is older").isEmpty();
    now += WAIT - 1;
    report();
    assertThat(work()).as("a SYN cookie may come back").isEmpty();
    now += 1;
    assertThat(work()).as("the report is older").isEmpty();
    report();
    assertThat(work())
        .isEqualTo("end of drain of web: backend 2 (empty, no connection left), removed");
    assertThat(image.pool()).doesNotContainKey(2);
    assertThat(image.transitions().drains()).isEmpty();
    assertThat(named(2)).as("it may be switched off").isZero();
    PoolPlan.of(image, List.of(another(2)), ofEpochSecond(now), WriteOptions.COMMIT);
  }

  /**
   * It may open connections at the backend until it withdraws, and it is not known whether it does.
   */
  @Test
  void waitsForAMuxThatHasLostItsSession() {
    drainEmpty(mux("mux1", 2), mux("mux2", 2));
    muxes = List.of(mux("mux1", 3));
    absent = List.of(new MuxPresence.Absent(mux("mux2", 2), BEHIND, now + WAIT));
    waitsOn(WAIT + SETTLED - 1);
    assertThat(view(2).now().waitingFor()).containsExactly("mux2");
    assertThat(view(2).now().note())
        .isEqualTo(
            "its reports do not count yet: mux2 has no session with ZooKeeper,"
                + " and withdraws once it is behind, for 1 s; "
                + EXPIRES);
    waitsOn(1);
    assertThat(view(2).now().note())
        .isEqualTo(
            "its reports do not count yet: mux2 has no session with ZooKeeper,"
                + " and hears from other muxes what is settled, for 10 s; "
                + EXPIRES);
    now += SettledMoves.MARGIN_SECONDS;
    assertThat(work()).as("the report is older").isEmpty();
    assertThat(view(2).now().waitingFor()).isEmpty();
    now += WAIT;
    report();
    assertThat(work()).contains("backend 2 (empty, no connection left)");
  }

  /** Buckets go from 1 to 2 and then on: packets of 1 do not need 2. */
  @Test
  void anOwnerInBetweenIsDoneToo() {
    connections.put(1, 5L);
    connections.put(2, 0L);
    drain(Optional.empty(), Then.KEEP, 1);
    now += 20;
    drain(Optional.empty(), Then.REMOVE, 2);
    waitsOn(SETTLED);
    now += WAIT;
    report();
    assertThat(work()).contains("backend 2 (empty, no connection left), removed");
  }

  @Test
  void withoutAnAgentItEndsBlindlyWithTheWindow() {
    drain(Optional.empty(), Then.KEEP, 2);
    assertThat(view(2).now().note())
        .isEqualTo("connections unknown, as no agent has reported within 30 s; " + EXPIRES);
    now += WINDOW - 1;
    assertThat(work()).isEmpty();
    now += 1;
    assertThat(work()).isEqualTo("end of drain of web: backend 2 (expired, connections unknown)");
    assertThat(reason(2)).contains(Reason.EXPIRED);
    assertThat(image.pool().get(2).weight()).isZero();
    assertThat(work()).isEmpty();
    assertThat(view(2).state()).isEqualTo("ended");
  }

  @Test
  void aSilentAgentIsNotZero() {
    connections.put(2, 5L);
    report();
    drain(Optional.of(600), Then.KEEP, 2);
    assertThat(work()).isEmpty();
    connections.remove(2);
    now += WINDOW - 1;
    assertThat(work()).isEmpty();
    now += 1;
    assertThat(work()).endsWith("backend 2 (expired, connections unknown)");
  }

  @Test
  void withAHoldItLastsUntilTheLastBucketIsReleased() {
    image = image(spec().holdSeconds(3600));
    connections.put(2, 5L);
    drain(Optional.empty(), Then.REMOVE, 2);
    waitsOn(3600);
    Runs.Builder released = new Runs.Builder();
    for (int bucket = 0; bucket < image.ring().buckets(); bucket++) {
      if (image.ring().previous(bucket) == 2) {
        released.add(bucket, 1, 2);
      }
    }
    image = PoolPlan.releasing(image, released.build(), ofEpochSecond(now)).after();
    assertThat(work()).endsWith("backend 2 (expired, 5 connections left), removed");
  }

  @Test
  void theDeadlineBreaksWhatIsLeft() {
    image = image(spec().holdSeconds(3600));
    connections.put(2, 5L);
    PoolPlan plan = drain(Optional.of(7200), Then.REMOVE, 2);
    assertThat(watch.plan(plan.after(), List.of(2)).get(0).left())
        .isEqualTo("break at the deadline");
    PoolPlan shorter = drain(Optional.of(600), Then.REMOVE, 2);
    assertThat(shorter.result().movedBuckets()).isZero();
    assertThat(shorter.isEmpty(plan.after())).isFalse();
    report();
    waitsOn(599);
    now += 1;
    work = leader(); // another controller
    assertThat(work()).endsWith("backend 2 (deadline, 5 connections left), removed");
    assertThat(new Reserved(image, ofEpochSecond(now)).secondsLeft(2))
        .as("clients are reset")
        .isZero();
    image = PoolPlan.of(image, List.of(add(2)), ofEpochSecond(now), WriteOptions.COMMIT).after();
  }

  @Test
  void datagramsAreNotCountedSoTheWindowHasToEnd() {
    image =
        image(spec().holdSeconds(3600).ports(List.of(new Port("tcp", 53), new Port("udp", 53))));
    connections.put(2, 0L);
    drain(Optional.empty(), Then.KEEP, 2);
    now += SETTLED;
    work();
    waitsOn(WINDOW - 1);
    now += 1;
    report();
    assertThat(work()).contains("backend 2 (empty");
  }

  @Test
  void subflowsReachADrainedBackendByItsPort() {
    image =
        image(
            spec()
                .mptcpPorts(
                    new io.fairlead.controller.core.image.ServiceConfig.MptcpPorts(20000, 20999)));
    connections.put(2, 1L);
    drain(Optional.empty(), Then.KEEP, 2);
    waitsOn(10 * WINDOW);
    connections.remove(2);
    assertThat(work()).contains("backend 2 (expired");
  }

  @Test
  void anUndoGivesBackTheWeightAtAnyTime() {
    image =
        PoolPlan.of(image, List.of(weight(2, 250)), ofEpochSecond(now), WriteOptions.COMMIT)
            .after();
    now += 1000;
    int before = image.ring().owned()[2];
    drain(Optional.of(60), Then.KEEP, 2, 3);
    now += 60;
    work();
    assertThat(reason(2)).contains(Reason.DEADLINE);
    image = PoolPlan.undrain(image, List.of(2), ofEpochSecond(now), WriteOptions.COMMIT).after();
    assertThat(image.pool().get(2).weight()).isEqualTo(250);
    image = PoolPlan.undrain(image, List.of(3), ofEpochSecond(now), WriteOptions.COMMIT).after();
    assertThat(image.ring().owned()[2]).isBetween(before - 1, before + 1);
    assertThat(image.transitions().drains()).isEmpty();
    assertThatThrownBy(
            () -> PoolPlan.undrain(image, List.of(2), ofEpochSecond(now), WriteOptions.COMMIT))
        .hasMessage("ids '2' is refused; allowed: draining backends: none");
    drain(Optional.empty(), Then.REMOVE, 2);
    image = PoolPlan.of(image, List.of(weight(2, 0)), ofEpochSecond(now), Requests.FORCE).after();
    assertThat(image.transitions().drains()).as("the same weight changes nothing").isNotEmpty();
    image = PoolPlan.of(image, List.of(weight(2, 1)), ofEpochSecond(now), Requests.FORCE).after();
    assertThat(image.transitions().drains()).isEmpty();
  }

  @Test
  void aRepeatedOrderChangesNothing() {
    drain(Optional.empty(), Then.KEEP, 2);
    assertThat(
            PoolPlan.drain(
                    image,
                    new DrainOrder(List.of(2), Optional.empty(), Then.KEEP),
                    ofEpochSecond(now + 5),
                    WriteOptions.COMMIT)
                .isEmpty(image))
        .isTrue();
  }

  @Test
  void moreThanTheServiceAllowsIsRefusedByName() {
    record Row(String most, List<Integer> ids, String refusal) {}
    for (Row row :
        List.of(
            new Row("1", List.of(3), "at most 1 of 4 backends draining"),
            new Row("25%", List.of(3), "(maintenance.maxDraining 25%); now: 2"),
            new Row("2", List.of(3, 4), "ids '3, 4' is refused"),
            new Row("2", List.of(3), ""),
            new Row("1", List.of(2), ""),
            new Row("100%", List.of(1, 3, 4), ""))) {
      image =
          image(
              spec()
                  .maintenance(
                      new io.fairlead.controller.core.image.ServiceConfig.Maintenance(row.most())));
      now += 1000;
      drain(Optional.empty(), Then.KEEP, 2);
      DrainOrder order = new DrainOrder(row.ids(), Optional.of(60), Then.KEEP);
      if (row.refusal().isEmpty()) {
        PoolPlan.drain(image, order, ofEpochSecond(now), WriteOptions.COMMIT);
      } else {
        assertThatThrownBy(
                () -> PoolPlan.drain(image, order, ofEpochSecond(now), WriteOptions.COMMIT))
            .as("%s", row)
            .hasMessageContaining(row.refusal());
      }
    }
  }

  @Test
  void whatMakesNoSenseIsRefused() {
    record Row(DrainOrder order, String refusal) {}
    Optional<Integer> none = Optional.empty();
    for (Row row :
        List.of(
            new Row(new DrainOrder(List.of(), none, Then.KEEP), "ids '0 backends'"),
            new Row(new DrainOrder(List.of(2, 2), none, Then.KEEP), "each backend once"),
            new Row(new DrainOrder(List.of(9), none, Then.KEEP), "backends of service 'web'"),
            new Row(new DrainOrder(List.of(2), Optional.of(0), Then.KEEP), "deadlineSeconds '0'"),
            new Row(new DrainOrder(List.of(2), Optional.of(2_592_001), Then.KEEP), "1..2592000"))) {
      assertThatThrownBy(
              () -> PoolPlan.drain(image, row.order(), ofEpochSecond(now), WriteOptions.COMMIT))
          .hasMessageContaining(row.refusal());
    }
  }

  /** A backend as the property's oracle knows it. */
  private static final class Known {
    private int weight;
    private int before;
    private boolean isDraining;
    private long deadline;
    private Then then;
  }

  @Property(tries = 60)
  void anySequenceEndsAsAnOracleSays(@ForAll long seed) {
    Random random = new Random(seed);
    now = NOW;
    image = image(spec().slowStartSeconds(random.nextBoolean() ? 0 : 60));
    work = leader();
    Map<Integer, Known> known = new TreeMap<>();
    for (int id = 1; id <= 4; id++) {
      known.put(id, new Known());
      known.get(id).weight = 100;
    }
    for (int event = 0; event < 50; event++) {
      int id = 1 + random.nextInt(6);
      Known it = known.get(id);
      switch (random.nextInt(5)) {
        case 0 -> {
          if (it == null) {
            now += WINDOW;
            settle(known);
            image =
                PoolPlan.of(image, List.of(add(id)), ofEpochSecond(now), WriteOptions.COMMIT)
                    .after();
            known.put(id, new Known());
            known.get(id).weight = 100;
          }
        }
        case 1 -> {
          if (it != null) {
            int seconds = 1 + random.nextInt(300);
            Then then = random.nextBoolean() ? Then.KEEP : Then.REMOVE;
            DrainOrder order = new DrainOrder(List.of(id), Optional.of(seconds), then);
            image = PoolPlan.drain(image, order, ofEpochSecond(now), Requests.FORCE).after();
            it.before = it.isDraining ? it.before : it.weight;
            it.weight = 0;
            it.isDraining = true;
            it.deadline = now + seconds;
            it.then = then;
          }
        }
        case 2 -> {
          if (it != null && it.isDraining) {
            image =
                PoolPlan.undrain(image, List.of(id), ofEpochSecond(now), Requests.FORCE).after();
            it.weight = it.before;
            it.isDraining = false;
          }
        }
        case 3 -> {
          if (it != null) {
            int weight = random.nextInt(3) * 60;
            image =
                PoolPlan.of(image, List.of(weight(id, weight)), ofEpochSecond(now), Requests.FORCE)
                    .after();
            it.isDraining &= weight == 0;
            it.weight = weight;
          }
        }
        default -> {
          now += random.nextInt(100);
          settle(known);
        }
      }
      Map<Integer, Integer> weights = new TreeMap<>();
      known.forEach((each, state) -> weights.put(each, state.weight));
      Map<Integer, Integer> shown = new TreeMap<>();
      image.pool().values().forEach(member -> shown.put(member.id(), member.weight()));
      assertThat(shown).as("seed %d, event %d", seed, event).isEqualTo(weights);
      assertThat(image.transitions().drains().keySet())
          .as("seed %d, event %d", seed, event)
          .containsExactlyInAnyOrderElementsOf(
              known.entrySet().stream()
                  .filter(each -> each.getValue().isDraining)
                  .map(Map.Entry::getKey)
                  .toList());
    }
  }

  /** Lets the leader work until nothing is due, and the oracle pass its deadlines. */
  private void settle(Map<Integer, Known> known) {
    for (int i = 0; !work().isEmpty(); i++) {
      assertThat(i).isLessThan(10);
    }
    // Without agents a drain is over with the window too, if no deadline was before that.
    known
        .entrySet()
        .removeIf(
            each ->
                each.getValue().isDraining
                    && each.getValue().then == Then.REMOVE
                    && (now >= each.getValue().deadline
                        || !image.pool().containsKey(each.getKey()) && isExpired(each.getKey())));
  }

  private boolean isExpired(int id) {
    return new Reserved(image, ofEpochSecond(now)).secondsLeft(id) == 0;
  }
}
