// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.metrics;

import static io.fairlead.controller.resources.metrics.Gauges.gauge;
import static io.fairlead.controller.resources.metrics.Gauges.point;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Gauges read from the current state at every scrape, so that they have no state that could be
 * stale.
 */
public final class StateMetrics implements MultiCollector {
  /** {@code zookeeper} is one of {@link #ZOOKEEPER_STATES}. */
  public record Controller(boolean leader, long epoch, String zookeeper) {}

  /**
   * @param id what packets and servers call the service
   * @param rules ranges of buckets with one owner
   * @param fragmentation rules per owner
   * @param imbalance highest load over the average
   * @param upkeep whether a rebalance or defragmentation is running
   * @param starting shares of backends that start slowly, by id
   */
  public record Service(
      String name,
      int id,
      long generation,
      int backends,
      int buckets,
      int rules,
      double fragmentation,
      double imbalance,
      boolean upkeep,
      Map<Integer, Double> starting) {}

  /**
   * Buckets that outlive their window.
   *
   * @param oldestSeconds since the last move of the bucket that moved first
   * @param nearLimit those of which less than a tenth of their time is left
   */
  public record Held(String service, int buckets, long oldestSeconds, int nearLimit) {}

  /**
   * What one mux has applied of one service, and for how long it has been behind.
   *
   * @param isUnsupported whether it does not announce the service, which it can't serve
   */
  public record Applied(
      String mux, String service, long generation, long lagSeconds, boolean isUnsupported) {}

  public record State(
      Controller controller,
      Collection<Service> services,
      Collection<Held> held,
      Collection<Applied> applied) {}

  private static final List<String> ZOOKEEPER_STATES = List.of("connected", "suspended", "lost");

  private final Supplier<State> state;

  public StateMetrics(Supplier<State> state) {
    this.state = state;
  }

  @Override
  public MetricSnapshots collect() {
    State now = state.get();
    GaugeSnapshot.Builder generations =
        gauge("fairlead_controller_generation", "Latest generation of the service");
    GaugeSnapshot.Builder infos =
        gauge("fairlead_controller_service", "1; the id by which servers know the service");
    GaugeSnapshot.Builder backends =
        gauge("fairlead_controller_backends", "Backends of the service, draining ones included");
    GaugeSnapshot.Builder buckets =
        gauge("fairlead_controller_buckets", "Buckets of the service's ring");
    GaugeSnapshot.Builder rules =
        gauge("fairlead_controller_rules", "Runs of neighbouring buckets with the same owner");
    GaugeSnapshot.Builder fragmentation =
        gauge("fairlead_controller_fragmentation", "Runs of buckets per owner, at least 1");
    GaugeSnapshot.Builder imbalance =
        gauge("fairlead_controller_imbalance", "Highest load over the average, at least 1");
    GaugeSnapshot.Builder upkeep =
        gauge(
            "fairlead_controller_upkeep_running",
            "Whether a rebalance or defragmentation is running");
    GaugeSnapshot.Builder starting =
        gauge(
            "fairlead_controller_slow_start_share",
            "Part of its weight that a backend has that starts slowly");
    Map<String, Long> latest = new HashMap<>();
    for (Service service : now.services()) {
      Labels labels = Labels.of("service", service.name());
      generations.dataPoint(point(labels, service.generation()));
      String id = Integer.toString(service.id());
      infos.dataPoint(point(Labels.of("service", service.name(), "id", id), 1));
      backends.dataPoint(point(labels, service.backends()));
      buckets.dataPoint(point(labels, service.buckets()));
      rules.dataPoint(point(labels, service.rules()));
      fragmentation.dataPoint(point(labels, service.fragmentation()));
      imbalance.dataPoint(point(labels, service.imbalance()));
      upkeep.dataPoint(point(labels, service.upkeep() ? 1 : 0));
      service
          .starting()
          .forEach(
              (backend, share) ->
                  starting.dataPoint(
                      point(
                          Labels.of(
                              "service", service.name(), "backend", Integer.toString(backend)),
                          share)));
      latest.put(service.name(), service.generation());
    }
    GaugeSnapshot.Builder held =
        gauge("fairlead_controller_held_buckets", "Buckets held beyond their window");
    GaugeSnapshot.Builder oldest =
        gauge(
            "fairlead_controller_held_oldest_seconds",
            "Time since the last move of the bucket that is held longest");
    GaugeSnapshot.Builder near =
        gauge(
            "fairlead_controller_held_near_limit_buckets",
            "Held buckets of which less than a tenth of their time is left");
    for (Held each : now.held()) {
      Labels labels = Labels.of("service", each.service());
      held.dataPoint(point(labels, each.buckets()));
      oldest.dataPoint(point(labels, each.oldestSeconds()));
      near.dataPoint(point(labels, each.nearLimit()));
    }
    GaugeSnapshot.Builder applied =
        gauge("fairlead_controller_mux_generation", "Generation that the mux has applied");
    GaugeSnapshot.Builder lag =
        gauge("fairlead_controller_mux_lag_generations", "Generations that the mux is behind");
    GaugeSnapshot.Builder seconds =
        gauge(
            "fairlead_controller_mux_lag_seconds",
            "Time since the first generation was committed that the mux has not applied");
    GaugeSnapshot.Builder unsupported =
        gauge(
            "fairlead_controller_mux_unsupported",
            "Whether the mux does not announce the service, because it can't serve it");
    for (Applied each : now.applied()) {
      Labels labels = Labels.of("mux", each.mux(), "service", each.service());
      applied.dataPoint(point(labels, each.generation()));
      seconds.dataPoint(point(labels, each.lagSeconds()));
      unsupported.dataPoint(point(labels, each.isUnsupported() ? 1 : 0));
      long behind = latest.getOrDefault(each.service(), each.generation()) - each.generation();
      lag.dataPoint(point(labels, Math.max(0, behind)));
    }
    Controller controller = now.controller();
    GaugeSnapshot.Builder zookeeper =
        gauge("fairlead_controller_zookeeper_state", "1 for the state of the session");
    for (String each : ZOOKEEPER_STATES) {
      double is = controller.zookeeper().equals(each) ? 1 : 0;
      zookeeper.dataPoint(point(Labels.of("state", each), is));
    }
    return MetricSnapshots.of(
        single(
            "fairlead_controller_leader",
            "Whether this controller leads",
            controller.leader() ? 1 : 0),
        single(
            "fairlead_controller_epoch",
            "The epoch that this controller last led in",
            controller.epoch()),
        single(
            "fairlead_controller_zookeeper_connected",
            "Whether the session with ZooKeeper is connected",
            controller.zookeeper().equals("connected") ? 1 : 0),
        generations.build(),
        infos.build(),
        backends.build(),
        buckets.build(),
        zookeeper.build(),
        seconds.build(),
        rules.build(),
        fragmentation.build(),
        imbalance.build(),
        upkeep.build(),
        starting.build(),
        held.build(),
        oldest.build(),
        near.build(),
        applied.build(),
        lag.build(),
        unsupported.build());
  }

  private static GaugeSnapshot single(String name, String help, double value) {
    return gauge(name, help).dataPoint(point(Labels.EMPTY, value)).build();
  }
}
