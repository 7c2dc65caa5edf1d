// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.LogLimit;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Sender;
import io.fairlead.controller.resources.plane.Refusal;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * Services for agents, their reports, and what is known of them. Reports about other servers are
 * counted and recorded, {@link #RECORDS} an hour at most, so that a wrong token cannot displace the
 * records of writes.
 */
public final class AgentRoutes implements Resource {
  public static final int RECORDS = 10;

  /** Keeps the record of a refused report. */
  public interface Audit {
    void refused(String who, String what, String why);
  }

  /** Counters, all of them there from the start: an alert compares with what was before. */
  private static final String REPORTS = "fairlead.controller.agent.reports";

  private static final List<String> RESULTS = List.of("used", "outdated", "repeated");
  private static final String REFUSED = "fairlead.controller.agent.reports.refused";
  private static final List<String> REASONS = List.of("foreign", "malformed", "unavailable");

  private final Supplier<Agents> agents;
  private final Audit audit;
  private final LogLimit records = new LogLimit(RECORDS, Duration.ofHours(1), System::nanoTime);

  public AgentRoutes(Supplier<Agents> agents, Audit audit) {
    this.agents = agents;
    this.audit = audit;
  }

  @Override
  public void register(Routes routes) {
    MeterRegistry metrics = routes.metrics();
    RESULTS.forEach(result -> metrics.counter(REPORTS, "result", result));
    REASONS.forEach(reason -> metrics.counter(REFUSED, "reason", reason));
    routes.read(
        "getAgentServices",
        request -> Answer.tagged(request, agents.get().services(request.sender())));
    routes.submit(
        "postAgentReport",
        Report.class,
        (sender, report) -> Answer.ok(taken(metrics, agents.get().report(sender, report), report)),
        (sender, e) -> refused(metrics, sender, e));
    routes.list("listAgents", request -> agents.get().list(), AgentView::key, AgentView.Key::parse);
  }

  private static Report.Reply taken(MeterRegistry metrics, Agents.Taken taken, Report report) {
    String result = "repeated";
    if (taken.isNew()) {
      result = taken.isCurrent() ? "used" : "outdated";
    }
    metrics.counter(REPORTS, "result", result).increment();
    if (result.equals("used")) {
      for (Report.Service service : report.services()) {
        metrics
            .counter("fairlead.controller.agent.opened.connections", "service", service.name())
            .increment(service.opened());
        metrics
            .counter("fairlead.controller.agent.closed.connections", "service", service.name())
            .increment(service.closed());
      }
    }
    return taken.reply();
  }

  private void refused(MeterRegistry metrics, Sender sender, RuntimeException e) {
    boolean isForeign = e instanceof Refusal refusal && refusal.kind() == Refusal.Kind.FORBIDDEN;
    boolean isUnavailable =
        e instanceof Refusal refusal && refusal.kind() == Refusal.Kind.UNAVAILABLE;
    String reason = isForeign ? "foreign" : isUnavailable ? "unavailable" : "malformed";
    metrics.counter(REFUSED, "reason", reason).increment();
    if (isForeign) {
      OptionalLong suppressed = records.take();
      if (suppressed.isPresent()) {
        String more = suppressed.getAsLong() == 0 ? "" : "; so were %d more, without a record";
        audit.refused(
            sender.name(),
            "POST /v1/agent/reports",
            e.getMessage() + more.formatted(suppressed.getAsLong()));
      }
    }
  }
}
