// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.agents.AgentReports.Standing;
import io.fairlead.controller.resources.agents.ServerSignals.Signals;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What is known of connections on a server after agents, or liars in their place, report it. */
class SignalReportsTest {
  private static final Address SEVEN = Address.parse("10.2.0.7").orElseThrow();
  private static final String BOOT = "0".repeat(31) + "1";
  private static final String OTHER_BOOT = "0".repeat(31) + "2";
  private static final long MAX = 9007199254740991L;

  private long now = Duration.ofDays(1).toNanos();
  private Standing standing = new Standing(1, SEVEN);
  private final AgentReports reports =
      new AgentReports((service, backend) -> Optional.of(standing), () -> now, () -> 1L << 16);
  private long sequence;

  /** Each number is `opened` times its place, so that none is taken for another. */
  private static SignalCounts counts(long opened) {
    return new SignalCounts(
        opened,
        Optional.of(2 * opened),
        Optional.of(3 * opened),
        Optional.of(4 * opened),
        Optional.of(5 * opened),
        Optional.of(6 * opened),
        Optional.of(7 * opened),
        Optional.of(8 * opened));
  }

  private static SignalCounts onlyOpened(long opened) {
    Optional<Long> unknown = Optional.empty();
    return new SignalCounts(opened, unknown, unknown, unknown, unknown, unknown, unknown, unknown);
  }

  private void report(String boot, SignalCounts counts) {
    report(boot, Optional.of(counts), true);
  }

  private void report(String boot, Optional<SignalCounts> counts, boolean isCurrent) {
    Report.Service web =
        new Report.Service(
            "web",
            9,
            0,
            Optional.empty(),
            5,
            4,
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            counts);
    reports.accept(
        new Report(
            Report.FORMAT,
            boot,
            ++sequence,
            "test",
            "events",
            List.of("10.2.0.7"),
            "v",
            0,
            List.of(web),
            Optional.empty()),
        Set.of(SEVEN),
        isCurrent,
        List.of(
            new Place(
                ServiceConfig.builder(standing.service(), "web").buckets(256).build(),
                List.of(7))));
  }

  private SignalCounts known() {
    return reports.signals("web", 7).orElseThrow().counts();
  }

  private AgentView.Signals view() {
    return AgentView.of("web", 7, "10.2.0.7", reports.seen("web", standing))
        .signals()
        .orElseThrow();
  }

  @Test
  void anOlderAgentHasNoSignals() {
    assertThat(reports.signals("web", 7)).isEmpty();
    report(BOOT, Optional.empty(), true);
    assertThat(reports.signals("web", 7)).isEmpty();
    assertThat(AgentView.of("web", 7, "10.2.0.7", reports.seen("web", standing)).signals())
        .isEmpty();
  }

  @Test
  void signalsAreKnownUntilTheAgentIsSilent() {
    report(BOOT, counts(10));
    now += Duration.ofSeconds(30).toNanos();
    assertThat(reports.signals("web", 7)).contains(new Signals(counts(10), Duration.ofSeconds(30)));
    now++;
    assertThat(reports.signals("web", 7)).isEmpty();
  }

  @Test
  void countsGoOnWhenAnAgentStartsAgain() {
    report(BOOT, counts(10));
    report(BOOT, counts(15));
    assertThat(known()).isEqualTo(counts(15));
    report(OTHER_BOOT, counts(20)); // more than before, and yet all of it is new
    assertThat(known()).isEqualTo(counts(35));
    report(OTHER_BOOT, counts(21));
    assertThat(known().since(counts(35))).isEqualTo(counts(1));
  }

  @Test
  void aNumberThatFallsShowsThatCountingBeganAgain() {
    report(BOOT, counts(10));
    report(BOOT, counts(4));
    assertThat(known()).isEqualTo(counts(14));
    SignalCounts fallen = counts(5);
    report(
        BOOT,
        new SignalCounts(
            fallen.opened(),
            Optional.of(1L),
            fallen.resetsSent(),
            fallen.resetsReceived(),
            fallen.retransmitted(),
            fallen.segments(),
            fallen.rttSamples(),
            fallen.rttMicroseconds()));
    assertThat(known().opened()).as("one that fell makes all of them new").isEqualTo(19);
    assertThat(known().refused()).contains(29L);
  }

  @Test
  void absentIsNotZero() {
    report(BOOT, counts(10));
    report(BOOT, onlyOpened(11));
    assertThat(known()).isEqualTo(onlyOpened(11));
    assertThat(known().resets()).isEmpty();
    assertThat(known().rtt()).isEmpty();
    assertThat(known().retransmittedShare()).isEmpty();
    report(BOOT, counts(12));
    assertThat(known().refused()).contains(24L);
  }

  @Test
  void liesOfAnySizeStayNumbers() {
    Optional<Long> most = Optional.of(MAX);
    for (int i = 0; i < 2000; i++) {
      report(
          BOOT,
          new SignalCounts(MAX, most, most, most, most, Optional.of(1L), Optional.of(1L), most));
      report(BOOT, counts(0));
    }
    assertThat(known().opened()).isEqualTo(Long.MAX_VALUE);
    assertThat(known().resets()).contains(Long.MAX_VALUE);
    assertThat(known().rtt().orElseThrow()).isPositive();
    assertThat(known().retransmittedShare().orElseThrow()).isBetween(0.0, 1.0);
  }

  @Test
  void anOutdatedReportCountsIfItsServiceIsKnown() {
    report(BOOT, Optional.of(counts(9)), false);
    assertThat(reports.signals("web", 7)).isEmpty();
    report(BOOT, counts(10));
    report(OTHER_BOOT, Optional.of(counts(2)), false);
    assertThat(reports.signals("web", 7)).as("it counts for other services").isEmpty();
    report(OTHER_BOOT, counts(3));
    assertThat(known()).isEqualTo(counts(13));
  }

  @Test
  void aServiceThatIsCreatedAgainBeginsAtZero() {
    report(BOOT, counts(10));
    standing = new Standing(2, SEVEN);
    assertThat(reports.signals("web", 7)).isEmpty();
    report(BOOT, counts(11));
    assertThat(known()).isEqualTo(counts(11));
  }

  @Test
  void ratesAreThoseBetweenTheLastTwoReports() {
    report(BOOT, counts(100));
    assertThat(view().resetsPerSecond()).isEmpty();
    assertThat(view().rttMilliseconds()).isEmpty();
    now += Duration.ofSeconds(10).toNanos();
    report(BOOT, counts(120));
    assertThat(view().counts()).isEqualTo(counts(120));
    assertThat(view().refusedPerSecond()).contains(4.0);
    assertThat(view().resetsPerSecond()).contains(14.0);
    assertThat(view().retransmittedShare().orElseThrow()).isEqualTo(5.0 / 6);
    assertThat(view().rttMilliseconds()).contains(0.001);
  }
}
