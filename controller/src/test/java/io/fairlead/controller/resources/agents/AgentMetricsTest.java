// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.agents.AgentReports.Heard;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What a scrape says of loads. */
class AgentMetricsTest {
  private static final Offers OFFERS = new Offers(130, 90, 40);

  private static AgentView view(int backend, Duration age, Optional<Report.Load> load) {
    return view(backend, age, load, Optional.empty());
  }

  private static AgentView view(
      int backend, Duration age, Optional<Report.Load> load, Optional<Report.Form> form) {
    return view(backend, age, load, form, Optional.empty());
  }

  private static AgentView view(
      int backend,
      Duration age,
      Optional<Report.Load> load,
      Optional<Report.Form> form,
      Optional<Signaled> signaled) {
    Report.Service service =
        new Report.Service(
            "app",
            9,
            3,
            Optional.empty(),
            5,
            4,
            Optional.empty(),
            Optional.empty(),
            load,
            signaled.map(Signaled::told));
    return AgentView.of(
        "app",
        backend,
        "10.2.0." + backend,
        Optional.of(
            new Seen(
                age,
                "0.1.0",
                "events",
                0,
                form,
                Optional.of(
                    new Heard(service, Optional.of(Duration.ofSeconds(10)), OFFERS, signaled)))));
  }

  private static Optional<Report.Load> load(Long busy) {
    return Optional.of(new Report.Load(Optional.ofNullable(busy), 30, 20, 10));
  }

  private static String scrape(AgentView... agents) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    PrometheusTextFormatWriter.create()
        .write(out, new AgentMetrics(() -> List.of(agents), () -> List.of("app")).collect());
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void loadsAreShownOfAgentsThatReportThem() throws IOException {
    Duration now = Duration.ofSeconds(1);
    String scrape =
        scrape(
            view(1, now, load(3L)),
            view(2, now, load(null)),
            view(3, now, Optional.empty()),
            view(4, Duration.ofSeconds(31), load(7L)));
    assertThat(lines(scrape, "fairlead_controller_agent_busy"))
        .containsExactly("{backend=\"1\",service=\"app\"} 3.0");
    assertThat(lines(scrape, "fairlead_controller_agent_offered_connections_total"))
        .containsExactly(
            "{backend=\"1\",service=\"app\"} 130.0", "{backend=\"2\",service=\"app\"} 130.0");
    assertThat(lines(scrape, "fairlead_controller_agent_taken_connections_total"))
        .containsExactly(
            "{backend=\"1\",service=\"app\"} 90.0", "{backend=\"2\",service=\"app\"} 90.0");
    assertThat(lines(scrape, "fairlead_controller_agent_passed_connections_total"))
        .containsExactly(
            "{backend=\"1\",service=\"app\"} 40.0", "{backend=\"2\",service=\"app\"} 40.0");
    assertThat(lines(scrape, "fairlead_controller_agent_passed_share"))
        .as("of the latest reports")
        .containsExactly("{service=\"app\"} " + 20.0 / 60);
  }

  private static Optional<Report.Form> form(boolean attached) {
    return Optional.of(new Report.Form("bpf", Optional.of("eth0"), attached));
  }

  @Test
  void detachedServersAreCountedAsLongAsTheirAgentsAreHeard() throws IOException {
    Duration now = Duration.ofSeconds(1);
    String scrape =
        scrape(
            view(1, now, Optional.empty(), form(true)),
            view(2, now, Optional.empty(), form(false)),
            view(3, now, Optional.empty()),
            view(4, Duration.ofSeconds(31), Optional.empty(), form(false)));
    assertThat(lines(scrape, "fairlead_controller_agents_detached"))
        .containsExactly("{service=\"app\"} 1.0");
    assertThat(lines(scrape(), "fairlead_controller_agents_detached"))
        .containsExactly("{service=\"app\"} 0.0");
  }

  @Test
  void nothingIsSaidWhereNothingWasOffered() throws IOException {
    Optional<Report.Load> idle = Optional.of(new Report.Load(Optional.of(0L), 0, 0, 0));
    String scrape = scrape(view(1, Duration.ZERO, idle));
    assertThat(lines(scrape, "fairlead_controller_agent_busy"))
        .containsExactly("{backend=\"1\",service=\"app\"} 0.0");
    assertThat(lines(scrape, "fairlead_controller_agent_passed_share")).isEmpty();
  }

  private static Optional<Signaled> signaled(SignalCounts counts) {
    return Optional.of(Signaled.of(counts, Optional.empty(), true));
  }

  @Test
  void signalsAreShownAsFarAsTheyAreKnown() throws IOException {
    Optional<Long> unknown = Optional.empty();
    SignalCounts all =
        new SignalCounts(
            40,
            Optional.of(1L),
            Optional.of(2L),
            Optional.of(3L),
            Optional.of(5L),
            Optional.of(500L),
            Optional.of(4L),
            Optional.of(3_000_000L));
    SignalCounts few =
        new SignalCounts(40, unknown, unknown, unknown, unknown, unknown, unknown, unknown);
    Duration now = Duration.ofSeconds(1);
    String scrape =
        scrape(
            view(1, now, Optional.empty(), Optional.empty(), signaled(all)),
            view(2, now, Optional.empty(), Optional.empty(), signaled(few)),
            view(3, now, Optional.empty()),
            view(4, Duration.ofSeconds(31), Optional.empty(), Optional.empty(), signaled(all)));
    assertThat(lines(scrape, "fairlead_controller_agent_accepted_connections_total"))
        .containsExactly(
            "{backend=\"1\",service=\"app\"} 40.0", "{backend=\"2\",service=\"app\"} 40.0");
    Map.of(
            "refused_connections", "1.0",
            "resets_sent", "2.0",
            "resets_received", "3.0",
            "retransmitted_segments", "5.0",
            "segments", "500.0",
            "rtt_samples", "4.0",
            "rtt_seconds", "3.0")
        .forEach(
            (metric, value) ->
                assertThat(lines(scrape, "fairlead_controller_agent_" + metric + "_total"))
                    .as(metric)
                    .containsExactly("{backend=\"1\",service=\"app\"} " + value));
  }

  private static List<String> lines(String scrape, String metric) {
    return scrape
        .lines()
        .filter(line -> line.startsWith(metric + "{"))
        .map(line -> line.substring(metric.length()))
        .toList();
  }
}
