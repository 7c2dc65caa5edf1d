// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import static io.fairlead.controller.resources.metrics.Gauges.gauge;
import static io.fairlead.controller.resources.metrics.Gauges.point;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Stage;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.Collection;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The staged changes that this controller leads, read at every scrape. */
public final class StageMetrics implements MultiCollector {
  /** How long a rollback is shown, in seconds. */
  private static final int SHOWN = 3600;

  private final Supplier<Collection<ServiceImage>> led;
  private final Supplier<StageGate> gate;
  private final LongSupplier seconds;

  /**
   * @param led services, none while this controller does not lead
   * @param gate that of these services
   * @param seconds the clock, Unix seconds
   */
  public StageMetrics(
      Supplier<Collection<ServiceImage>> led, Supplier<StageGate> gate, LongSupplier seconds) {
    this.led = led;
    this.gate = gate;
    this.seconds = seconds;
  }

  @Override
  public MetricSnapshots collect() {
    GaugeSnapshot.Builder share =
        gauge(
            "fairlead_controller_stage_share",
            "Part of the running staged change that has taken effect");
    GaugeSnapshot.Builder age =
        gauge("fairlead_controller_stage_seconds", "Time since the running staged change began");
    GaugeSnapshot.Builder unheard =
        gauge(
            "fairlead_controller_stage_unheard",
            "1 while no agent reports signals of the running staged change, else 0");
    GaugeSnapshot.Builder overdue =
        gauge(
            "fairlead_controller_stage_overdue_seconds",
            "Time since the next step of the running staged change was due at the earliest; 0"
                + " before");
    GaugeSnapshot.Builder rolledBack =
        gauge(
            "fairlead_controller_stage_rolled_back",
            "1 if the latest staged change was rolled back within an hour, else 0");
    long now = seconds.getAsLong();
    for (ServiceImage image : led.get()) {
      Optional<Stage> latest = image.transitions().stage();
      Labels all = Labels.of("service", image.config().name());
      overdue.dataPoint(point(all, latest.map(stage -> overdue(stage, now)).orElse(0L)));
      rolledBack.dataPoint(
          point(all, latest.filter(stage -> wasRolledBack(stage, now)).isPresent() ? 1 : 0));
      image
          .transitions()
          .staging()
          .ifPresent(
              stage -> {
                Labels labels = Labels.of("service", image.config().name());
                share.dataPoint(point(labels, stage.share() / (double) Stage.WHOLE));
                age.dataPoint(point(labels, now - stage.started()));
                boolean isHeard =
                    gate.get().seen(image).filter(seen -> !seen.raised().isEmpty()).isPresent();
                unheard.dataPoint(point(labels, isHeard ? 0 : 1));
              });
    }
    return MetricSnapshots.of(
        share.build(), age.build(), unheard.build(), overdue.build(), rolledBack.build());
  }

  private static long overdue(Stage stage, long now) {
    return stage.isRunning() ? Math.max(0, now - stage.due()) : 0;
  }

  private static boolean wasRolledBack(Stage stage, long now) {
    return stage
        .end()
        .filter(end -> end.outcome() == Stage.Outcome.ROLLED_BACK && now - end.at() < SHOWN)
        .isPresent();
  }
}
