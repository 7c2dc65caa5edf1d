// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.agents.BucketSetCodec;
import io.fairlead.controller.resources.agents.Report;
import io.fairlead.controller.resources.explain.Explanation;
import io.fairlead.controller.resources.explain.Flow;
import io.fairlead.controller.resources.hold.HoldView;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.service.ReleaseWork;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Held buckets that are released by what agents report, also to the next leader. */
class HoldReportTest {
  private static final WriteOptions COMMIT = WriteOptions.COMMIT;
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final Duration SOME_POLLS = Duration.ofMillis(1500);
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;
  private static final int HOLD = 86_400;

  /** After that, until no SYN cookie can come back. */
  private static final int COOKIES = 130;

  /** After a move, while no mux is known. */
  private static final int SETTLED =
      MuxPresence.BEHIND_SECONDS_DEFAULT + SettledMoves.MARGIN_SECONDS;

  private final SettableClock clock = new SettableClock(NOW);
  private final BitSet connections = new BitSet();
  private TestingServer server;
  private FairleadController controller;
  private final Reports reports = new Reports();

  /** What the agent at backend 2 was asked last: the question and, once, its buckets. */
  private Optional<Report.Question> question = Optional.empty();

  private BitSet buckets = new BitSet();

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    controller = open("first");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    ServiceSpec web = spec("web", "10.99.0.1").toBuilder().holdSeconds(HOLD).build();
    done(controller.services().createService(web, COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), COMMIT));
    clock.set(NOW + 1000);
  }

  @AfterEach
  void close() throws Exception {
    controller.close();
    server.close();
  }

  private FairleadController open(String id) throws Exception {
    return Controllers.open(
        ControllerOptions.of(
                server.getConnectString(), FreePorts.nextAddress(), "/fairlead", id, clock)
            .withMonotonic(clock::seconds)
            .withClockCheck(false));
  }

  /** The next report of the agent at backend 2, with the answer to what it was asked before. */
  private void report() {
    try {
      Optional<Report.Answer> answer =
          question.map(
              asked -> {
                BitSet left = (BitSet) buckets.clone();
                left.and(connections);
                return new Report.Answer(
                    asked.question(), left.cardinality(), BucketSetCodec.encode(left));
              });
      question =
          reports
              .from(controller, 2, Reports.web(connections.cardinality(), answer, Optional.empty()))
              .stream()
              .findFirst();
      if (question.isPresent() && question.get().buckets().isPresent()) {
        buckets = BucketSetCodec.decode(question.get().buckets().get(), 1024);
      }
    } catch (BucketSetCodec.MalformedException e) {
      throw new AssertionError(e);
    }
  }

  private Ring ring() {
    return controller.plane().read("web", service -> service.image().ring());
  }

  private BitSet named() {
    Ring ring = ring();
    BitSet named = new BitSet();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      named.set(bucket, ring.previous(bucket) > 0);
    }
    return named;
  }

  private HoldView holds() {
    return controller
        .plane()
        .read(
            "web",
            service ->
                HoldView.of(
                    service.image(),
                    controller.softState().reports(),
                    controller.softState().settled().seen(service.image()),
                    clock.instant()));
  }

  /** The agent goes on reporting, and time passes. */
  private void untilNamed(BitSet wanted) {
    await()
        .atMost(SOON)
        .pollInterval(Duration.ofMillis(100))
        .until(
            () -> {
              report();
              clock.set(clock.seconds() + 1);
              return named().equals(wanted);
            });
  }

  /** 2 is removed, and has connections in buckets 1000 to 1003. */
  private void moveAway() throws Exception {
    done(controller.backends().change("web", List.of(remove(2)), COMMIT));
    connections.set(1000, 1004);
    assertThat(named().cardinality()).isEqualTo(512);
  }

  @Test
  void emptyBucketsAreReleasedAfterTheWindowAndTheOthersWhenTheirConnectionsEnd() throws Exception {
    moveAway();
    BitSet held = named();
    assertThat(held.get(1003)).isTrue();
    report();
    clock.set(clock.seconds() + WINDOW - 1);
    await()
        .during(SOME_POLLS)
        .atMost(SOON)
        .until(
            () -> {
              report();
              return named().equals(held) && question.isEmpty();
            });
    untilNamed(connections);
    long generation = ring().generation();
    await()
        .atMost(SOON)
        .until(
            () -> {
              report();
              clock.set(clock.seconds() + 1);
              return holds().connections().equals(Optional.of(4L));
            });
    HoldView.Owner two = holds().owners().get(0);
    assertThat(two.id()).isEqualTo(2);
    assertThat(two.buckets()).isEqualTo(4);
    assertThat(two.occupiedBuckets()).contains(4);
    assertThat(two.since()).isEqualTo(NOW + 1000);
    assertThat(two.until()).isEqualTo(NOW + 1000 + HOLD);
    assertThat(ring().generation()).as("nothing to release").isEqualTo(generation);
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_held_buckets{service=\"web\"} 4.0")
        .contains("fairlead_controller_held_near_limit_buckets{service=\"web\"} 0.0")
        .contains(
            "fairlead_controller_released_buckets_total{reason=\"report\",service=\"web\"} 508.0");
    connections.clear(1000, 1003);
    untilNamed(connections);
    connections.clear();
    untilNamed(connections);
    done(controller.backends().change("web", List.of(add(2)), COMMIT));
  }

  @Test
  void theNextLeaderKnowsNothingUntilItHears() throws Exception {
    moveAway();
    connections.clear();
    BitSet held = named();
    FairleadController first = controller;
    try (FairleadController second = open("second")) {
      await().until(second::isServing);
      clock.set(clock.seconds() + WINDOW - 1);
      report();
      assertThat(Shown.explain(second, "web", flowOf1001()).hold().orElseThrow().owners())
          .extracting(HoldView.Former::unknown)
          .containsExactly(Optional.of("only the leader knows, to which agents report"));
      first.close();
      assertThat(second.awaitLeader(SOON)).isTrue();
      controller = second;
      clock.set(clock.seconds() + 1000);
      await().during(SOME_POLLS).atMost(SOON).until(() -> named().equals(held));
      assertThat(holds().owners().get(0).unknown()).contains("backend 2 has no agent");
      question = Optional.empty();
      untilNamed(new BitSet());
    }
  }

  /** Killed in a hold: the limit is the same for the next leader. */
  @Test
  void theNextLeaderReleasesAtTheSameLimit() throws Exception {
    moveAway();
    BitSet held = named();
    clock.set(clock.seconds() + 50_000);
    controller.close();
    controller = open("second");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    clock.set(NOW + 1000 + HOLD - 1);
    await().during(SOME_POLLS).atMost(SOON).until(() -> named().equals(held));
    assertThat(controller.metrics().scrape())
        .contains("fairlead_controller_held_near_limit_buckets{service=\"web\"} 512.0")
        .contains("fairlead_controller_held_oldest_seconds{service=\"web\"} 86399.0");
    clock.set(NOW + 1000 + HOLD + ReleaseWork.EVERY.toSeconds());
    await().atMost(SOON).until(() -> named().isEmpty());
  }

  @Test
  void explainSaysForWhomABucketIsHeld() throws Exception {
    moveAway();
    Flow flow = flowOf1001();
    assertThat(former(flow)).isEqualTo(unknown("backend 2 has no agent"));
    report();
    says(flow, 512, "some mux may be absent that this controller never saw", SETTLED);
    assertThat(Shown.explain(controller, "web", flow).hold().orElseThrow().held()).isFalse();
    clock.set(clock.seconds() + SETTLED);
    says(flow, 512, "a SYN cookie may still come back", COOKIES);
    clock.set(clock.seconds() + COOKIES - 1);
    says(flow, 512, "a SYN cookie may still come back", 1);
    clock.set(clock.seconds() + WINDOW);
    report();
    untilNamed(connections);
    HoldView.Bucket held = Shown.explain(controller, "web", flow).hold().orElseThrow();
    assertThat(held.held()).isTrue();
    assertThat(held.until()).isEqualTo(NOW + 1000 + HOLD);
    untilAnswered();
    assertThat(former(flow)).isEqualTo(new HoldView.Former(2, Optional.of(true), Optional.empty()));
    assertThat(holds().waitingBuckets()).isZero();
    assertThat(holds().waitingFor()).isEmpty();
  }

  /** Explain and holds say the same of what buckets wait for. */
  private void says(Flow flow, int buckets, String why, int seconds) {
    String words = "not asked yet: %s, for %d s".formatted(why, seconds);
    await().atMost(SOON).untilAsserted(() -> assertThat(former(flow)).isEqualTo(unknown(words)));
    HoldView holds = holds();
    assertThat(holds.waitingBuckets()).isEqualTo(buckets);
    assertThat(holds.waitingFor())
        .containsExactly(
            new HoldView.ReportWait(
                Optional.empty(), why, OptionalLong.of(clock.seconds() + seconds)));
    assertThat(holds.owners())
        .extracting(HoldView.Owner::unknown, HoldView.Owner::connections)
        .containsExactly(tuple(Optional.of(words), Optional.empty()));
    assertThat(holds.connections()).isEmpty();
  }

  private HoldView.Former former(Flow flow) {
    Explanation explained = Shown.explain(controller, "web", flow);
    assertThat(explained.former()).hasSize(1);
    return explained.hold().orElseThrow().owners().get(0);
  }

  private static HoldView.Former unknown(String why) {
    return new HoldView.Former(2, Optional.empty(), Optional.of(why));
  }

  private Flow flowOf1001() {
    return IntStream.range(1, 65_536)
        .mapToObj(port -> new Flow("tcp", "10.2.1.2", port, "10.99.0.1", 80))
        .filter(flow -> Shown.explain(controller, "web", flow).bucket().equals(Optional.of(1001)))
        .findFirst()
        .orElseThrow();
  }

  private void untilAnswered() {
    await()
        .atMost(SOON)
        .until(
            () -> {
              report();
              clock.set(clock.seconds() + 1);
              return holds().connections().isPresent();
            });
  }
}
