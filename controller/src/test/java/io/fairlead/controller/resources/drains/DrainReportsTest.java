// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import static io.fairlead.controller.Requests.add;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.Drain.End;
import io.fairlead.controller.core.image.Drain.Reason;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.agents.AgentReports.Standing;
import io.fairlead.controller.resources.agents.Report;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Drains by the reports of an agent, which may be under way for any time. */
class DrainReportsTest {
  private static final long NOW = 1_700_000_000;
  private static final int BEHIND = 60;
  private static final int SETTLED = BEHIND + SettledMoves.MARGIN_SECONDS;
  private static final int WAIT = 130;

  private long now = NOW;
  private ServiceImage image = image();

  private final AgentReports reports =
      new AgentReports(
          (service, id) -> Optional.of(new Standing(1, image.pool().get(id).address())),
          () -> TimeUnit.SECONDS.toNanos(now),
          () -> 1L << 16);

  private final DrainWatch watch =
      new DrainWatch(
          reports,
          new SettledServices(
              () ->
                  new MuxPresence(
                      List.of(
                          new MuxPresence.Present(
                              Muxes.mux(
                                  "mux1",
                                  "10.1.0.11",
                                  List.of(),
                                  Map.of("web", Muxes.serving(image.ring().generation()))),
                              BEHIND)),
                      List.of(),
                      0),
              () -> now,
              committed -> now - committed,
              SettledMoves.Told.AT_ONCE,
              config -> SettledMoves.Sharing.NONE),
          () -> TimeUnit.SECONDS.toNanos(now));

  private long sequence;

  /** What the agent was asked last. */
  private Optional<Report.Question> question = Optional.empty();

  private static ServiceImage image() {
    ServiceImage empty =
        ServiceImage.create(
            ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)), NOW - 2000);
    ServiceImage full =
        PoolPlan.of(empty, List.of(add(1), add(2)), ofEpochSecond(NOW - 2000), WriteOptions.COMMIT)
            .after();
    return PoolPlan.drain(
            full,
            new DrainOrder(List.of(2), Optional.empty(), Drain.Then.KEEP),
            ofEpochSecond(NOW),
            WriteOptions.COMMIT)
        .after();
  }

  /** A report of the drained server, as it is written now. */
  private Report write(long established) {
    return new Report(
        Report.FORMAT,
        "000102030405060708090a0b0c0d0e0f",
        ++sequence,
        "test",
        "events",
        List.of(image.pool().get(2).address().toString()),
        "v",
        0,
        List.of(
            new Report.Service(
                "web",
                established,
                0,
                Optional.empty(),
                0,
                0,
                question.map(asked -> new Report.Answer(asked.question(), 0, "")),
                Optional.empty(),
                Optional.empty(),
                Optional.empty())),
        Optional.empty());
  }

  private void arrives(Report report) {
    question =
        reports
            .accept(
                report,
                Set.of(image.pool().get(2).address()),
                true,
                List.of(new Place(image.config(), List.of(2))))
            .questions()
            .stream()
            .findFirst();
  }

  private Optional<Reason> ended() {
    SortedMap<Integer, End> ended = watch.ended(image, id -> true, ofEpochSecond(now));
    return Optional.ofNullable(ended.get(2)).map(End::reason);
  }

  /** A late mux opens a connection after the server wrote its report, which comes much later. */
  @Test
  void whatWasWrittenBeforeAllMuxesHadTheDrainSaysNothing() {
    assertThat(ended()).isEmpty();
    arrives(write(0));
    Report late = write(0);
    now += SETTLED;
    assertThat(ended()).isEmpty();
    now += WAIT;
    arrives(late);
    assertThat(ended()).as("it has just come, and is %d s old", now - NOW).isEmpty();
    arrives(write(1)); // opened meanwhile
    assertThat(ended()).isEmpty();
    now += 1;
    arrives(write(0));
    assertThat(ended()).contains(Reason.EMPTY);
  }

  /** A bucket of the drained server that had to wait, and which it loses at {@link #now}. */
  private void moves(int bucket, int to) {
    Runs runs = new Runs.Builder().add(bucket, 1, to).build();
    image = PoolPlan.of(image, runs, ofEpochSecond(now), false).after();
  }

  /** A late mux opens one in a bucket that could not move before. */
  @Test
  void whatWasWrittenBeforeTheLastBucketHadMovedSaysNothing() {
    moves(0, 2);
    assertThat(ended()).isEmpty();
    now += 1000;
    assertThat(ended()).isEmpty();
    now += 10;
    arrives(write(0));
    now += 1;
    arrives(write(0));
    assertThat(ended()).as("it owns a bucket").isEmpty();
    moves(0, 1);
    assertThat(ended()).as("the report is older than that").isEmpty();
    now += 1;
    arrives(write(0));
    assertThat(ended()).as("a mux may be late").isEmpty();
    now += SETTLED;
    assertThat(ended()).isEmpty();
    now += WAIT;
    assertThat(ended()).isEmpty();
    arrives(write(1)); // opened by it
    assertThat(ended()).isEmpty();
    now += 1;
    arrives(write(0));
    assertThat(ended()).contains(Reason.EMPTY);
  }
}
