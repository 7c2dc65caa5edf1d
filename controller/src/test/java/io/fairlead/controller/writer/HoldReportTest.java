// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import static io.fairlead.controller.writer.Requests.add;
import static io.fairlead.controller.writer.Requests.done;
import static io.fairlead.controller.writer.Requests.remove;
import static io.fairlead.controller.writer.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.agents.BucketSetCodec;
import io.fairlead.controller.agents.Report;
import io.fairlead.controller.explain.Explanation;
import io.fairlead.controller.explain.Flow;
import io.fairlead.controller.hold.HoldView;
import io.fairlead.controller.muxes.MuxPresence;
import io.fairlead.controller.muxes.SettledMoves;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.services.ServiceSpec;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
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
    return FairleadController.open(
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
                    controller.liveConnections(),
                    controller.settled().see(service.image()),
                    clock.seconds()));
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
    clock.set(NOW + 1000 + HOLD + Releases.EVERY_SECONDS);
    await().atMost(SOON).until(() -> named().isEmpty());
  }

  @Test
  void explainSaysForWhomABucketIsHeld() throws Exception {
    moveAway();
    for (int port = 1; port < 65536; port++) {
      Flow flow = new Flow("tcp", "10.2.1.2", port, "10.99.0.1", 80);
      Explanation explained = Shown.explain(controller, "web", flow);
      if (explained.bucket().equals(Optional.of(1001))) {
        assertThat(explained.former()).hasSize(1);
        HoldView.Bucket window = explained.hold().orElseThrow();
        assertThat(window.held()).isFalse();
        assertThat(window.owners().get(0).unknown().orElseThrow())
            .startsWith("not asked yet: some");
        clock.set(clock.seconds() + SETTLED);
        await()
            .atMost(SOON)
            .untilAsserted(
                () ->
                    assertThat(Shown.explain(controller, "web", flow).hold().orElseThrow().owners())
                        .extracting(HoldView.Former::unknown)
                        .containsExactly(Optional.of("asked in 130 s")));
        clock.set(clock.seconds() + WINDOW);
        report();
        untilNamed(connections);
        HoldView.Bucket held = Shown.explain(controller, "web", flow).hold().orElseThrow();
        assertThat(held.held()).isTrue();
        assertThat(held.until()).isEqualTo(NOW + 1000 + HOLD);
        untilAnswered();
        assertThat(Shown.explain(controller, "web", flow).hold().orElseThrow().owners())
            .containsExactly(new HoldView.Former(2, Optional.of(true), Optional.empty()));
        return;
      }
    }
    throw new AssertionError("no flow is in bucket 1001");
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
