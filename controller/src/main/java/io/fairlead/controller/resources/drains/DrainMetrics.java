// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import static io.fairlead.controller.resources.metrics.Gauges.gauge;
import static io.fairlead.controller.resources.metrics.Gauges.point;

import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.Collection;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The drains that this controller leads, read at every scrape. */
public final class DrainMetrics implements MultiCollector {
  private final Supplier<Collection<ServiceImage>> led;
  private final Supplier<DrainWatch> watch;
  private final LongSupplier seconds;

  /**
   * @param led services, none while this controller does not lead
   * @param watch that of these services
   * @param seconds the clock, Unix seconds
   */
  public DrainMetrics(
      Supplier<Collection<ServiceImage>> led, Supplier<DrainWatch> watch, LongSupplier seconds) {
    this.led = led;
    this.watch = watch;
    this.seconds = seconds;
  }

  @Override
  public MetricSnapshots collect() {
    GaugeSnapshot.Builder age =
        gauge("fairlead_controller_drain_seconds", "Time since the running drain began");
    GaugeSnapshot.Builder connections =
        gauge(
            "fairlead_controller_drain_connections",
            "Connections left of the running drain; absent if unknown");
    GaugeSnapshot.Builder deadline =
        gauge("fairlead_controller_drain_deadline_seconds", "Time to the running drain's deadline");
    for (ServiceImage image : led.get()) {
      for (Map.Entry<Integer, Drain> each : image.transitions().drains().entrySet()) {
        Drain drain = each.getValue();
        if (drain.isRunning()) {
          Labels labels =
              Labels.of(
                  "service", image.config().name(), "backend", Integer.toString(each.getKey()));
          age.dataPoint(point(labels, seconds.getAsLong() - drain.since()));
          drain
              .deadline()
              .ifPresent(at -> deadline.dataPoint(point(labels, at - seconds.getAsLong())));
          watch
              .get()
              .progress(image, each.getKey(), drain)
              .connections()
              .ifPresent(count -> connections.dataPoint(point(labels, count.all())));
        }
      }
    }
    return MetricSnapshots.of(age.build(), connections.build(), deadline.build());
  }
}
