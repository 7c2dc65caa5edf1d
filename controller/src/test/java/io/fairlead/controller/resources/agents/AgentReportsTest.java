// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Maat;
import io.fairlead.controller.core.image.ServiceConfigBuilder;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.MaatLoad;
import io.fairlead.controller.resources.agents.AgentReports.Outcome;
import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.agents.AgentReports.Standing;
import io.fairlead.controller.resources.plane.Refusal;
import java.time.Duration;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AgentReportsTest {
  private static final Address SEVEN = Address.parse("10.2.0.7").orElseThrow();
  private static final String BOOT = "0".repeat(31) + "1";
  private static final String OTHER_BOOT = "0".repeat(31) + "2";

  private long now = Duration.ofDays(1).toNanos();
  private long terms;
  private final Map<Integer, Standing> backends = new HashMap<>(Map.of(7, new Standing(1, SEVEN)));
  private List<Place> places = List.of(place(config -> config, 7));
  private AgentReports reports = newLeader();

  private AgentReports newLeader() {
    return new AgentReports(
        (service, backend) ->
            service.equals("web") ? Optional.ofNullable(backends.get(backend)) : Optional.empty(),
        () -> now,
        () -> ++terms << 16);
  }

  private static Report report(String boot, long sequence, Report.Service... services) {
    return new Report(
        1,
        boot,
        sequence,
        "0.1.0",
        "events",
        List.of("10.2.0.7"),
        "v",
        0,
        List.of(services),
        Optional.empty());
  }

  private static Report.Service web(long established, Report.Answer answer) {
    return new Report.Service(
        "web",
        established,
        3,
        Optional.empty(),
        5,
        4,
        Optional.ofNullable(answer),
        Optional.empty(),
        Optional.empty(),
        Optional.empty());
  }

  private static Place place(UnaryOperator<ServiceConfigBuilder> with, Integer... backends) {
    return new Place(
        with.apply(ServiceConfig.builder(1, "web").buckets(256)).build(), List.of(backends));
  }

  private static Report.Service loaded(Long busy, long offered, long taken, long passed) {
    return new Report.Service(
        "web",
        9,
        3,
        Optional.empty(),
        5,
        4,
        Optional.empty(),
        Optional.empty(),
        Optional.of(new Report.Load(Optional.ofNullable(busy), offered, taken, passed)),
        Optional.empty());
  }

  private AgentView view() {
    return AgentView.of("web", 7, "10.2.0.7", reports.seen("web", backends.get(7)));
  }

  private Outcome accept(Report report) {
    return reports.accept(report, Set.of(SEVEN), true, places);
  }

  private void pass(int seconds) {
    now += Duration.ofSeconds(seconds).toNanos();
  }

  private static BitSet set(int... buckets) {
    BitSet set = new BitSet();
    IntStream.of(buckets).forEach(set::set);
    return set;
  }

  private static Report.Answer answer(String question, int... buckets) {
    return new Report.Answer(question, buckets.length, BucketSetCodec.encode(set(buckets)));
  }

  @Test
  void nothingIsKnownOfAnAgentThatWasNeverHeard() {
    assertThat(reports.connections("web", 7)).isEmpty();
    assertThat(reports.connections("web", 8)).isEmpty();
    assertThat(reports.connections("dns", 7)).isEmpty();
    assertThat(reports.occupied("web", 7)).isEmpty();
  }

  @Test
  void aReportIsKnownUntilItsAgentIsSilent() {
    accept(report(BOOT, 1, web(812, null)));
    pass(30);
    assertThat(reports.connections("web", 7).orElseThrow())
        .isEqualTo(new LiveConnections.Count(812, 3, Duration.ofSeconds(30), Optional.empty()));
    now++;
    assertThat(reports.connections("web", 7)).isEmpty();
    assertThat(reports.seen("web", backends.get(7)).orElseThrow().isSilent()).isTrue();
    accept(report(BOOT, 2, web(0, null)));
    assertThat(reports.connections("web", 7).orElseThrow().established()).isZero();
  }

  @Test
  void aServiceThatAReportLeavesOutIsUnknown() {
    accept(report(BOOT, 1, web(812, null)));
    accept(report(BOOT, 2));
    assertThat(reports.connections("web", 7)).isEmpty();
    assertThat(reports.seen("web", backends.get(7)).orElseThrow().service()).isEmpty();
  }

  @Test
  void numbersForAnotherStateOfTheServicesAreNotUsed() {
    accept(report(BOOT, 1, web(812, null)));
    Outcome outcome = reports.accept(report(BOOT, 2, web(0, null)), Set.of(SEVEN), false, places);
    assertThat(outcome.nextSeconds()).isEqualTo(1);
    assertThat(reports.connections("web", 7)).isEmpty();
    assertThat(reports.seen("web", backends.get(7)).orElseThrow().isSilent()).isFalse();
  }

  @Test
  void anotherServiceOfTheNameAndAnotherAddressAreUnknown() {
    accept(report(BOOT, 1, web(0, null)));
    backends.put(7, new Standing(2, SEVEN));
    assertThat(reports.connections("web", 7)).isEmpty();
    backends.put(7, new Standing(1, Address.parse("10.2.0.8").orElseThrow()));
    assertThat(reports.connections("web", 7)).isEmpty();
  }

  /** By boot and sequence of a report after the first, which is the second of boot 1. */
  @ParameterizedTest
  @CsvSource({"1, 3, true", "1, 2, false", "1, 1, false", "2, 1, true", "2, 9, true"})
  void onlyANewerReportChangesSomething(int boot, long sequence, boolean isNew) {
    accept(report(BOOT, 2, web(10, null)));
    String name = boot == 1 ? BOOT : OTHER_BOOT;
    assertThat(accept(report(name, sequence, web(20, null))).isNew()).isEqualTo(isNew);
    assertThat(reports.connections("web", 7).orElseThrow().established())
        .isEqualTo(isNew ? 20 : 10);
  }

  @Test
  void aLateReportOfAFormerBootChangesNothing() {
    accept(report(BOOT, 1, web(0, null)));
    accept(report(OTHER_BOOT, 1, web(10, null)));
    assertThat(accept(report(BOOT, 2, web(0, null))).isNew()).isFalse();
    assertThat(reports.connections("web", 7).orElseThrow().established()).isEqualTo(10);
  }

  @Test
  void aQuestionIsAskedUntilItIsWithdrawnAndAnswered() {
    assertThat(accept(report(BOOT, 1, web(9, null))).questions()).isEmpty();
    assertThat(accept(report(BOOT, 2, web(9, null))).nextSeconds()).isEqualTo(10);
    String question = reports.ask("web", 7, set(1, 2, 3)).orElseThrow();
    assertThat(reports.occupied("web", 7)).isEmpty();
    Outcome asked = accept(report(BOOT, 3, web(9, null)));
    assertThat(asked.nextSeconds()).isEqualTo(1);
    assertThat(asked.questions())
        .containsExactly(new Report.Question("web", question, Optional.of("AQM=")));
    assertThat(reports.occupied("web", 7)).isEmpty();
    pass(2);
    assertThat(accept(report(BOOT, 4, web(9, answer(question, 2)))).questions())
        .containsExactly(new Report.Question("web", question, Optional.empty()));
    pass(1);
    assertThat(reports.occupied("web", 7).orElseThrow())
        .isEqualTo(
            new LiveConnections.Occupied(
                set(2), 1, question, Duration.ofSeconds(1), Duration.ofSeconds(3)));
    assertThat(reports.ask("web", 7, set(1, 2, 3))).contains(question);
    assertThat(reports.occupied("web", 7)).isPresent();
    accept(report(BOOT, 5, web(9, null)));
    assertThat(reports.occupied("web", 7)).isEmpty();
    accept(report(BOOT, 6, web(9, answer(question))));
    assertThat(reports.occupied("web", 7).orElseThrow().buckets()).isEqualTo(set());
    assertThat(reports.ask("web", 7, set())).isEmpty();
    assertThat(reports.occupied("web", 7)).isEmpty();
    assertThat(accept(report(BOOT, 7, web(9, null))).questions()).isEmpty();
  }

  @Test
  void anAnswerToAQuestionThatWasReplacedIsNoAnswer() {
    String first = reports.ask("web", 7, set(1, 2)).orElseThrow();
    String second = reports.ask("web", 7, set(2)).orElseThrow();
    accept(report(BOOT, 1, web(9, answer(first, 1))));
    assertThat(reports.occupied("web", 7)).isEmpty();
    assertThat(reports.ask("web", 7, set(1, 2)).orElseThrow()).isNotIn(first, second);
    assertThat(reports.occupied("web", 7)).isEmpty();
  }

  @Test
  void aSilentAgentsAnswerIsNoAnswer() {
    String question = reports.ask("web", 7, set(1)).orElseThrow();
    accept(report(BOOT, 1, web(9, answer(question))));
    pass(31);
    assertThat(reports.occupied("web", 7)).isEmpty();
  }

  @Test
  void aNewLeaderKnowsAndAsksNothing() {
    String question = reports.ask("web", 7, set(1)).orElseThrow();
    reports.watch("web", 7);
    accept(report(BOOT, 1, web(9, answer(question))));
    reports = newLeader();
    assertThat(reports.connections("web", 7)).isEmpty();
    assertThat(reports.occupied("web", 7)).isEmpty();
    assertThat(reports.ask("web", 7, set(1)).orElseThrow()).isNotEqualTo(question);
    accept(report(BOOT, 2, web(9, answer(question))));
    assertThat(reports.occupied("web", 7)).isEmpty();
    reports.ask("web", 7, set());
    assertThat(accept(report(BOOT, 3, web(9, null))).nextSeconds()).isEqualTo(10);
  }

  @Test
  void aWatchedBackendReportsEverySecondForAWhile() {
    reports.watch("web", 7);
    assertThat(accept(report(BOOT, 1, web(9, null))).nextSeconds()).isEqualTo(1);
    pass(30);
    assertThat(accept(report(BOOT, 2, web(9, null))).nextSeconds()).isEqualTo(10);
  }

  private Optional<Duration> asked() {
    return reports.connections("web", 7).orElseThrow().asked();
  }

  /** By the question that it answers, of which there is another one after each answer. */
  @Test
  void aWatchedBackendsReportsHaveADate() {
    reports.watch("web", 7);
    Report.Question first = accept(report(BOOT, 1, web(9, null))).questions().get(0);
    assertThat(asked()).isEmpty();
    pass(5);
    assertThat(accept(report(BOOT, 2, web(9, null))).questions()).containsExactly(first);
    assertThat(asked()).as("no answer").isEmpty();
    pass(2);
    Report.Question second =
        accept(report(BOOT, 3, web(9, answer(first.question(), 0)))).questions().get(0);
    assertThat(second.question()).isNotEqualTo(first.question());
    assertThat(second.buckets()).isPresent();
    assertThat(asked()).contains(Duration.ofSeconds(7));
    pass(20);
    assertThat(accept(report(BOOT, 3, web(9, answer(second.question())))).questions())
        .as("repeated")
        .containsExactly(new Report.Question("web", second.question(), Optional.empty()));
    assertThat(asked()).contains(Duration.ofSeconds(27));
    accept(report(BOOT, 4, web(9, answer(first.question()))));
    assertThat(asked()).as("of a question before").isEmpty();
    pass(3);
    assertThat(accept(report(BOOT, 5, web(9, answer(second.question())))).questions())
        .as("watched no more")
        .isEmpty();
    assertThat(asked()).contains(Duration.ofSeconds(23));
  }

  /** It has a second question, about the same buckets, under another name after each answer. */
  @Test
  void aHoldsQuestionThatStaysDoesNotKeepReportsWithoutADate() {
    String question = reports.ask("web", 7, set(1, 2)).orElseThrow();
    accept(report(BOOT, 1, web(9, null)));
    pass(4);
    accept(report(BOOT, 2, web(9, answer(question))));
    assertThat(asked()).contains(Duration.ofSeconds(4));
    pass(100);
    reports.watch("web", 7);
    Report.Question first = accept(report(BOOT, 3, web(9, answer(question)))).questions().get(0);
    assertThat(first.question()).startsWith(question + "+").hasSizeLessThanOrEqualTo(64);
    assertThat(first.buckets()).contains("AQI=");
    pass(3);
    Report.Question second =
        accept(report(BOOT, 4, web(9, answer(first.question(), 2)))).questions().get(0);
    assertThat(asked()).contains(Duration.ofSeconds(3));
    assertThat(reports.occupied("web", 7).orElseThrow())
        .isEqualTo(
            new LiveConnections.Occupied(
                set(2), 1, question, Duration.ZERO, Duration.ofSeconds(107)));
    assertThat(second.question()).startsWith(question + "+").isNotEqualTo(first.question());
    pass(30);
    assertThat(accept(report(BOOT, 5, web(9, answer(second.question(), 2)))).questions())
        .as("watched no more")
        .containsExactly(new Report.Question("web", question, Optional.of("AQI=")));
  }

  /** What is held changes as it is released: the second question dates an answer all the same. */
  @Test
  void anAnswerOfWhichOneQuestionWasReplacedHasADate() {
    reports.watch("web", 7);
    reports.ask("web", 7, set(1, 2));
    Report.Question asked = accept(report(BOOT, 1, web(9, null))).questions().get(0);
    pass(5);
    reports.ask("web", 7, set(2));
    pass(1);
    accept(report(BOOT, 2, web(9, answer(asked.question(), 1))));
    assertThat(asked()).contains(Duration.ofSeconds(6));
    assertThat(reports.occupied("web", 7)).isEmpty();
  }

  /** A report has one date, and names have room in a question's 64 characters. */
  @Test
  void aWatchedServerThatIsTwoBackendsHasOneDate() {
    backends.put(8, new Standing(1, SEVEN));
    places = List.of(place(config -> config, 7, 8));
    reports.watch("web", 7);
    reports.watch("web", 8);
    String seven = reports.ask("web", 7, set(1)).orElseThrow();
    String eight = reports.ask("web", 8, set(2)).orElseThrow();
    Report.Question asked = accept(report(BOOT, 1, web(9, null))).questions().get(0);
    assertThat(asked.question().split("\\+")).hasSize(3).contains(seven, eight);
    pass(2);
    accept(report(BOOT, 2, web(9, answer(asked.question(), 2))));
    assertThat(asked()).contains(Duration.ofSeconds(2));
    assertThat(reports.occupied("web", 7).orElseThrow().buckets()).isEqualTo(set());
    assertThat(reports.occupied("web", 8).orElseThrow().buckets()).isEqualTo(set(2));
  }

  @Test
  void whatIsOfferedAddsUpWhileTheAgentIsKnown() {
    accept(report(BOOT, 1, loaded(3L, 120, 80, 40)));
    assertThat(view().load())
        .contains(
            new AgentView.Load(
                Optional.of(3L),
                120,
                80,
                40,
                Optional.empty(),
                Optional.of(40 / 120.0),
                new Report.Load(Optional.of(3L), 120, 80, 40)));
    pass(2);
    accept(report(BOOT, 2, loaded(null, 10, 10, 0)));
    assertThat(view().load())
        .contains(
            new AgentView.Load(
                Optional.empty(),
                130,
                90,
                40,
                Optional.of(5.0),
                Optional.of(0.0),
                new Report.Load(Optional.empty(), 10, 10, 0)));
    accept(report(BOOT, 2, loaded(9L, 10, 10, 0)));
    assertThat(view().load().orElseThrow().offered()).as("repeated").isEqualTo(130);
    accept(report(OTHER_BOOT, 1, loaded(1L, 0, 0, 0)));
    assertThat(view().load())
        .as("another boot")
        .contains(
            new AgentView.Load(
                Optional.of(1L),
                130,
                90,
                40,
                Optional.empty(),
                Optional.empty(),
                new Report.Load(Optional.of(1L), 0, 0, 0)));
    accept(report(OTHER_BOOT, 2, web(9, null)));
    assertThat(view().load()).isEmpty();
    accept(report(OTHER_BOOT, 3, loaded(1L, 1, 1, 0)));
    assertThat(view().load().orElseThrow().offered()).isEqualTo(131);
    reports = newLeader();
    accept(report(OTHER_BOOT, 4, loaded(1L, 1, 1, 0)));
    assertThat(view().load().orElseThrow().offered()).as("a new leader").isEqualTo(1);
  }

  /** A change of a server's other services makes its agent's next report outdated. */
  @Test
  void whatIsOfferedGoesOnWhenServicesChange() {
    accept(report(BOOT, 1, loaded(3L, 120, 80, 40)));
    reports.accept(report(BOOT, 2, loaded(3L, 10, 4, 6)), Set.of(SEVEN), false, places);
    assertThat(view().load()).as("of another state").isEmpty();
    accept(report(BOOT, 3, loaded(3L, 1, 1, 0)));
    AgentView.Load load = view().load().orElseThrow();
    assertThat(List.of(load.offered(), load.taken(), load.passed()))
        .isEqualTo(List.of(131L, 85L, 46L));

    reports.accept(
        report(BOOT, 4, loaded(3L, 10, 10, 0)),
        Set.of(SEVEN),
        false,
        List.of(new Place(ServiceConfig.builder(2, "web").buckets(256).build(), List.of(7))));
    accept(report(BOOT, 5, loaded(3L, 1, 1, 0)));
    assertThat(view().load().orElseThrow().offered())
        .as("another service of the name")
        .isEqualTo(1);
  }

  @Test
  void whatAnUnknownAgentOfferedOtherServicesIsNoOnes() {
    reports.accept(report(BOOT, 1, loaded(3L, 10, 4, 6)), Set.of(SEVEN), false, places);
    accept(report(BOOT, 2, loaded(3L, 1, 1, 0)));
    assertThat(view().load().orElseThrow().offered()).isEqualTo(1);
  }

  @Test
  void loadsAreOfThePoolAndOfTheLastTenSeconds() throws RefusedException {
    ServiceImage image = image();
    assertThat(reports.loads(image)).isEmpty();
    accept(report(BOOT, 1, loaded(0L, 0, 0, 0)));
    assertThat(reports.loads(image)).isEqualTo(Map.of(7, 0L));
    pass(10);
    assertThat(reports.loads(image)).isEqualTo(Map.of(7, 0L));
    now++;
    assertThat(reports.loads(image)).isEmpty();
    accept(report(BOOT, 2, loaded(4294967295L, 0, 0, 0)));
    assertThat(reports.loads(image)).isEqualTo(Map.of(7, 4294967295L));
    accept(report(BOOT, 3, loaded(null, 0, 0, 0)));
    assertThat(reports.loads(image)).as("no reading").isEmpty();
    accept(report(BOOT, 4, web(9, null)));
    assertThat(reports.loads(image)).as("no load").isEmpty();
  }

  /** The ages of the latest reports of backends 7 and 8, in seconds; none: never heard. */
  @ParameterizedTest
  @CsvSource({
    "31, 15, 7",
    "31, 16, ",
    "30, 0, ",
    "31, , ",
    ", 0, ",
    "900, 2, 7",
    "31, 31, ",
  })
  void silentIsWhoReportedBeforeWhileAnotherReports(Integer seven, Integer eight, Integer silent)
      throws RefusedException {
    Address other = Address.parse("10.2.0.8").orElseThrow();
    long end = now + Duration.ofSeconds(1000).toNanos();
    if (seven != null) {
      now = end - Duration.ofSeconds(seven).toNanos();
      accept(report(BOOT, 1));
    }
    if (eight != null) {
      now = end - Duration.ofSeconds(eight).toNanos();
      reports.accept(report(OTHER_BOOT, 1), Set.of(other), true, places);
    }
    now = end;
    assertThat(reports.silent(image(), LiveConnections.SILENCE))
        .isEqualTo(silent == null ? Set.of() : Set.of(silent));
  }

  /** Backends 7 and 8, of which no agent reports about 8. */
  private static ServiceImage image() throws RefusedException {
    Ring ring = Ring.empty(1, 256, 1);
    Address eight = Address.parse("10.2.0.8").orElseThrow();
    List<Backend> backends =
        List.of(new Backend(7, SEVEN, 100, false), new Backend(8, eight, 100, false));
    ServiceConfig config = ServiceConfig.builder(1, "web").buckets(256).build();
    return new ServiceImage(config, ring.apply(Delta.after(ring, 2, backends, Runs.EMPTY)));
  }

  @ParameterizedTest
  @CsvSource({"PACKETS, 10", "BYTES, 10", "CONNECTIONS, 10", "AGENTS, 1"})
  void loadsForMuxesAreReportedEverySecond(MaatLoad load, int seconds) {
    places =
        List.of(place(config -> config.maat(Optional.of(new Maat(load, 10, 1000, 65_536, 3))), 7));
    assertThat(accept(report(BOOT, 1, loaded(1L, 0, 0, 0))).nextSeconds()).isEqualTo(seconds);
  }

  @Test
  void aServerThatIsTwoBackendsIsAskedOnce() {
    backends.put(8, new Standing(1, SEVEN));
    places = List.of(place(config -> config, 7, 8));
    String seven = reports.ask("web", 7, set(1, 2)).orElseThrow();
    String eight = reports.ask("web", 8, set(2, 9)).orElseThrow();
    Report.Question asked = accept(report(BOOT, 1, web(9, null))).questions().get(0);
    assertThat(asked.buckets()).contains(BucketSetCodec.encode(set(1, 2, 9)));
    assertThat(asked.question()).hasSizeLessThanOrEqualTo(64);
    accept(report(BOOT, 2, web(9, answer(asked.question(), 2, 9))));
    assertThat(reports.occupied("web", 7).orElseThrow().buckets()).isEqualTo(set(2));
    assertThat(reports.occupied("web", 7).orElseThrow().question()).isEqualTo(seven);
    assertThat(reports.occupied("web", 8).orElseThrow().buckets()).isEqualTo(set(2, 9));
    assertThat(reports.occupied("web", 8).orElseThrow().question()).isEqualTo(eight);
  }

  /** By the buckets of an answer to the question of buckets 1 to 3, in a ring of 256. */
  @ParameterizedTest
  @CsvSource({
    "AAE=, bucket 0",
    "BAE=, bucket 4",
    "AP8B, bucket 0",
    "AIAE, AIAE (ring)",
    "AQ==, AQ== (truncated)",
    "x, x (base64)"
  })
  void anAnswerOfOtherBucketsIsRefused(String buckets, String value) {
    String question = reports.ask("web", 7, set(1, 2, 3)).orElseThrow();
    accept(report(BOOT, 1, web(9, null)));
    assertThatThrownBy(
            () -> accept(report(BOOT, 2, web(0, new Report.Answer(question, 1, buckets)))))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining("services[0].answer.buckets '%s' is refused".formatted(value));
    assertThat(reports.connections("web", 7).orElseThrow().established()).isEqualTo(9);
  }

  @Test
  void openedAndClosedNeedNotAddUp() {
    accept(report(BOOT, 1, web(100, null)));
    accept(report(BOOT, 2, web(3, null)));
    assertThat(reports.connections("web", 7).orElseThrow().established()).isEqualTo(3);
  }

  @Test
  void serversAndServicesThatAreGoneAreForgotten() {
    String question = reports.ask("web", 7, set(1)).orElseThrow();
    accept(report(BOOT, 1, web(9, answer(question))));
    reports.retain(List.of(SEVEN), List.of("web"));
    assertThat(reports.occupied("web", 7)).isPresent();
    reports.retain(List.of(), List.of("web"));
    assertThat(reports.seen("web", backends.get(7))).isEmpty();
    reports.retain(List.of(), List.of());
    assertThat(accept(report(BOOT, 1, web(9, null))).questions()).isEmpty();
  }
}
