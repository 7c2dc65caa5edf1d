// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import static io.fairlead.controller.resources.metrics.Gauges.gauge;
import static io.fairlead.controller.resources.metrics.Gauges.point;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** Gauges of services steered by othello, read at every scrape. Only the leader has any. */
public final class OthelloMetrics implements MultiCollector {
  private final Supplier<List<OthelloStatus>> statuses;

  public OthelloMetrics(Supplier<List<OthelloStatus>> statuses) {
    this.statuses = statuses;
  }

  @Override
  public MetricSnapshots collect() {
    List<OthelloStatus> all = statuses.get();
    return MetricSnapshots.of(
        each(all, "connections", "Connections that are known", OthelloStatus::connections),
        each(all, "miscoded", "Known connections not in a bucket of theirs", s -> s.miscoded()),
        each(all, "homeless", "Known connections whose backend has no bucket", s -> s.homeless()),
        each(all, "disputed", "Known connections that several servers claim", s -> s.disputed()),
        each(
            all,
            "kept_buckets",
            "Buckets that name a backend which owns none and has connections",
            s -> s.keptBuckets().values().stream().mapToInt(Integer::intValue).sum()),
        each(all, "needed_seconds", "Time that new arrays are needed", s -> s.neededSeconds()),
        each(
            all,
            "fallback",
            "1 while there can be no new arrays",
            s -> is(s.fallback().isPresent())),
        each(
            all,
            "damaged",
            "1 while ZooKeeper lacks arrays that it should have",
            s -> is(s.damage().isPresent())),
        each(all, "window_seconds", "Window of the service", s -> s.windowSeconds()),
        each(
            all,
            "waiting_agents",
            "Agents that arrays wait for",
            s -> s.waitingFor().map(waiting -> waiting.agents().size()).orElse(0)),
        each(
            all,
            "waiting_muxes",
            "Muxes that arrays wait for",
            s -> s.waitingFor().map(waiting -> waiting.muxes().size()).orElse(0)),
        each(
            all,
            "arrays_generation",
            "Generation of the newest arrays, 0 before the first",
            s -> s.arrays().map(OthelloStatus.Arrays::generation).orElse(0L)),
        each(
            all,
            "arrays_bytes",
            "Bytes that a mux reads for the newest arrays",
            s -> s.arrays().map(OthelloStatus.Arrays::bytes).orElse(0L)),
        each(
            all,
            "load",
            "Known connections over the geometric mean of the sizes",
            s -> s.arrays().map(OthelloStatus.Arrays::load).orElse(0.0)),
        each(all, "build_seconds", "Time of the latest build", s -> s.builtMillis() / 1000.0));
  }

  private static double is(boolean value) {
    return value ? 1 : 0;
  }

  private static MetricSnapshot each(
      List<OthelloStatus> all, String name, String help, ToDoubleFunction<OthelloStatus> value) {
    GaugeSnapshot.Builder gauge = gauge("fairlead_othello_" + name, help);
    all.forEach(
        status ->
            gauge.dataPoint(
                point(Labels.of("service", status.service()), value.applyAsDouble(status))));
    return gauge.build();
  }
}
