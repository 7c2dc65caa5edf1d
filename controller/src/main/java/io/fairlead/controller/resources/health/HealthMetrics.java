// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import static io.fairlead.controller.resources.metrics.Gauges.gauge;
import static io.fairlead.controller.resources.metrics.Gauges.point;

import io.fairlead.controller.resources.health.HealthDecision.State;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.List;
import java.util.function.Supplier;

/** The health of the services that this controller leads, read at every scrape. */
public final class HealthMetrics implements MultiCollector {
  private static final List<String> PROBE_STATES = List.of("fresh", "stale", "malformed");

  private final Supplier<List<HealthView>> views;
  private final Supplier<List<ProbeWatch.View>> probes;

  public HealthMetrics(Supplier<List<HealthView>> views, Supplier<List<ProbeWatch.View>> probes) {
    this.views = views;
    this.probes = probes;
  }

  @Override
  public MetricSnapshots collect() {
    GaugeSnapshot.Builder backends =
        gauge("fairlead_controller_health_backends", "Backends by what probes find");
    GaugeSnapshot.Builder panic =
        gauge(
            "fairlead_controller_health_panic",
            "1 while health is ignored since too few backends are healthy");
    GaugeSnapshot.Builder missing =
        gauge(
            "fairlead_controller_health_probes_missing",
            "Probes of the service that are lacking before a backend can go out of service");
    for (HealthView view : views.get()) {
      for (State state : State.values()) {
        long count = view.backends().stream().filter(each -> each.state() == state).count();
        backends.dataPoint(
            point(Labels.of("service", view.service(), "state", state.word()), count));
      }
      Labels service = Labels.of("service", view.service());
      panic.dataPoint(point(service, view.panic() ? 1 : 0));
      missing.dataPoint(point(service, Math.max(0, view.needed() - view.probes())));
    }
    GaugeSnapshot.Builder nodes =
        gauge("fairlead_controller_probes", "Probes by the state of their nodes");
    List<ProbeWatch.View> all = probes.get();
    for (String state : PROBE_STATES) {
      nodes.dataPoint(
          point(
              Labels.of("state", state),
              all.stream().filter(probe -> probe.state().equals(state)).count()));
    }
    GaugeSnapshot.Builder cut =
        gauge("fairlead_controller_probe_reaches", "1 while the mux's probe reaches any backend");
    for (ProbeWatch.View probe : all) {
      cut.dataPoint(point(Labels.of("mux", probe.id()), probe.reaches() ? 1 : 0));
    }
    return MetricSnapshots.of(
        backends.build(), panic.build(), missing.build(), nodes.build(), cut.build());
  }
}
