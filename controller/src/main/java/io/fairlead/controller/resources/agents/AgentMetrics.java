// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import static io.fairlead.controller.resources.metrics.Gauges.gauge;
import static io.fairlead.controller.resources.metrics.Gauges.point;

import io.fairlead.controller.resources.agents.AgentView.Load;
import io.fairlead.controller.resources.agents.AgentView.State;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Gauges of what agents report, read at every scrape. Only the leader has any. A backend whose
 * agent is silent has an age and no connections: the last number would look like a current one.
 */
public final class AgentMetrics implements MultiCollector {
  private static final String DUMPS = "dumps";
  private static final double MICROS_PER_SECOND = 1e6;

  private final Supplier<List<AgentView>> agents;
  private final Supplier<Collection<String>> services;

  /**
   * @param agents of every backend; empty on a follower
   * @param services all of them; empty on a follower
   */
  public AgentMetrics(Supplier<List<AgentView>> agents, Supplier<Collection<String>> services) {
    this.agents = agents;
    this.services = services;
  }

  @Override
  public MetricSnapshots collect() {
    List<AgentView> all = agents.get();
    List<AgentView> reporting =
        all.stream().filter(agent -> agent.state() == State.REPORTING).toList();
    return MetricSnapshots.of(
        states(all),
        count(
            "fairlead_controller_agents_without_events",
            "Backends whose agents only read socket tables now and then",
            reporting,
            agent -> agent.mode().equals(Optional.of(DUMPS))),
        count(
            "fairlead_controller_agents_detached",
            "Backends whose agents say that nothing is attached that takes packets of muxes",
            all,
            AgentView::isDetached),
        perBackend(
            "fairlead_controller_agent_age_seconds",
            "Age of the last report about the backend",
            all,
            AgentView::ageSeconds),
        connections(reporting),
        perBackend(
            "fairlead_controller_agent_accept_queue",
            "Connections that wait to be accepted",
            reporting,
            agent -> agent.acceptQueue().map(queue -> (double) queue.length())),
        perBackend(
            "fairlead_controller_agent_accept_queue_limit",
            "How many connections may wait to be accepted",
            reporting,
            agent -> agent.acceptQueue().map(queue -> (double) queue.limit())),
        perBackend(
            "fairlead_controller_agent_lost_events",
            "Events that the agent lost since it started",
            reporting,
            agent -> agent.lostEvents().map(Long::doubleValue)),
        perBackend(
            "fairlead_controller_agent_busy",
            "What the server has to do, as the agent reads it",
            reporting,
            agent -> agent.load().flatMap(Load::busy).map(Long::doubleValue)),
        counter(
            "fairlead_controller_agent_offered_connections",
            "New connections that the server could refuse",
            reporting,
            agent -> agent.load().map(Load::offered)),
        counter(
            "fairlead_controller_agent_taken_connections",
            "Those of them that it took",
            reporting,
            agent -> agent.load().map(Load::taken)),
        counter(
            "fairlead_controller_agent_passed_connections",
            "Those of them that it passed on to the second bucket's backend",
            reporting,
            agent -> agent.load().map(Load::passed)),
        signal(
            "fairlead_controller_agent_accepted_connections",
            "Connections that were established on the server",
            reporting,
            counts -> Optional.of(counts.opened())),
        signal(
            "fairlead_controller_agent_refused_connections",
            "Connections that the server refused, or dropped as its queue was full",
            reporting,
            SignalCounts::refused),
        signal(
            "fairlead_controller_agent_resets_sent",
            "Resets that the server sent, other than refusals",
            reporting,
            SignalCounts::resetsSent),
        signal(
            "fairlead_controller_agent_resets_received",
            "Resets that the server received",
            reporting,
            SignalCounts::resetsReceived),
        signal(
            "fairlead_controller_agent_retransmitted_segments",
            "Segments that the server sent again",
            reporting,
            SignalCounts::retransmitted),
        signal(
            "fairlead_controller_agent_segments",
            "Segments that the server sent",
            reporting,
            SignalCounts::segments),
        signal(
            "fairlead_controller_agent_rtt_samples",
            "Connections whose round-trip time was measured on the server",
            reporting,
            SignalCounts::rttSamples),
        counters(
            "fairlead_controller_agent_rtt_seconds",
            "Sum of their round-trip times",
            reporting,
            agent ->
                agent
                    .signals()
                    .flatMap(signals -> signals.counts().rttMicroseconds())
                    .map(sum -> sum / MICROS_PER_SECOND)),
        passedShares(reporting));
  }

  private static GaugeSnapshot passedShares(List<AgentView> reporting) {
    Map<String, Offers> sums = new TreeMap<>();
    for (AgentView agent : reporting) {
      Offers before = sums.getOrDefault(agent.service(), Offers.NONE);
      agent.load().ifPresent(load -> sums.put(agent.service(), before.plus(load.latest())));
    }
    GaugeSnapshot.Builder gauge =
        gauge(
            "fairlead_controller_agent_passed_share",
            "Part of new connections that the second bucket's backend took, by the last reports");
    sums.forEach(
        (service, sum) ->
            sum.passedShare()
                .ifPresent(share -> gauge.dataPoint(point(Labels.of("service", service), share))));
    return gauge.build();
  }

  private static CounterSnapshot counter(
      String name, String help, List<AgentView> of, Function<AgentView, Optional<Long>> value) {
    return counters(name, help, of, agent -> value.apply(agent).map(Long::doubleValue));
  }

  private static CounterSnapshot signal(
      String name, String help, List<AgentView> of, Function<SignalCounts, Optional<Long>> value) {
    return counter(
        name, help, of, agent -> agent.signals().flatMap(signals -> value.apply(signals.counts())));
  }

  private static CounterSnapshot counters(
      String name, String help, List<AgentView> of, Function<AgentView, Optional<Double>> value) {
    CounterSnapshot.Builder counter = CounterSnapshot.builder().name(name).help(help);
    for (AgentView agent : of) {
      value
          .apply(agent)
          .ifPresent(
              number ->
                  counter.dataPoint(
                      CounterDataPointSnapshot.builder()
                          .labels(labels(agent))
                          .value(number)
                          .build()));
    }
    return counter.build();
  }

  private GaugeSnapshot states(List<AgentView> all) {
    Map<String, int[]> counts = new TreeMap<>();
    services.get().forEach(service -> counts.put(service, new int[State.values().length]));
    for (AgentView agent : all) {
      counts
          .computeIfAbsent(agent.service(), service -> new int[State.values().length])[
          agent.state().ordinal()]++;
    }
    GaugeSnapshot.Builder gauge =
        gauge("fairlead_controller_agents", "Backends by what is heard of their agents");
    counts.forEach(
        (service, byState) -> {
          for (State state : State.values()) {
            gauge.dataPoint(
                point(
                    Labels.of("service", service, "state", state.word()),
                    byState[state.ordinal()]));
          }
        });
    return gauge.build();
  }

  /** How many backends of each service have such agents. */
  private GaugeSnapshot count(
      String name, String help, List<AgentView> agents, Predicate<AgentView> such) {
    Map<String, Integer> counts = new TreeMap<>();
    services.get().forEach(service -> counts.put(service, 0));
    agents.stream().filter(such).forEach(agent -> counts.merge(agent.service(), 1, Integer::sum));
    GaugeSnapshot.Builder gauge = gauge(name, help);
    counts.forEach(
        (service, count) -> gauge.dataPoint(point(Labels.of("service", service), count)));
    return gauge.build();
  }

  private static GaugeSnapshot connections(List<AgentView> reporting) {
    GaugeSnapshot.Builder gauge =
        gauge("fairlead_controller_agent_connections", "Connections on the backend");
    for (AgentView agent : reporting) {
      agent
          .established()
          .ifPresent(count -> gauge.dataPoint(point(labels(agent, "established"), count)));
      agent
          .halfOpen()
          .ifPresent(count -> gauge.dataPoint(point(labels(agent, "half_open"), count)));
    }
    return gauge.build();
  }

  private static GaugeSnapshot perBackend(
      String name, String help, List<AgentView> of, Function<AgentView, Optional<Double>> value) {
    List<GaugeDataPointSnapshot> points = new ArrayList<>();
    for (AgentView agent : of) {
      value.apply(agent).ifPresent(number -> points.add(point(labels(agent), number)));
    }
    GaugeSnapshot.Builder gauge = gauge(name, help);
    points.forEach(gauge::dataPoint);
    return gauge.build();
  }

  private static Labels labels(AgentView agent) {
    return Labels.of("service", agent.service(), "backend", Integer.toString(agent.backend()));
  }

  private static Labels labels(AgentView agent, String state) {
    return Labels.of(
        "service", agent.service(), "backend", Integer.toString(agent.backend()), "state", state);
  }
}
