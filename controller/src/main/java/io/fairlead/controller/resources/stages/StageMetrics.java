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
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The staged changes that this controller leads, read at every scrape. */
public final class StageMetrics implements MultiCollector {
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
    for (ServiceImage image : led.get()) {
      image
          .transitions()
          .staging()
          .ifPresent(
              stage -> {
                Labels labels = Labels.of("service", image.config().name());
                share.dataPoint(point(labels, stage.share() / (double) Stage.WHOLE));
                age.dataPoint(point(labels, seconds.getAsLong() - stage.started()));
                boolean isHeard =
                    gate.get().seen(image).filter(seen -> !seen.raised().isEmpty()).isPresent();
                unheard.dataPoint(point(labels, isHeard ? 0 : 1));
              });
    }
    return MetricSnapshots.of(share.build(), age.build(), unheard.build());
  }
}
