// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.metrics;

import com.google.common.collect.Maps;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Transitions.SlowStart;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.hold.HoldCounts;
import io.fairlead.controller.resources.metrics.StateMetrics.Applied;
import io.fairlead.controller.resources.metrics.StateMetrics.Controller;
import io.fairlead.controller.resources.metrics.StateMetrics.Held;
import io.fairlead.controller.resources.metrics.StateMetrics.Service;
import io.fairlead.controller.resources.metrics.StateMetrics.State;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.plane.Health;
import io.fairlead.controller.resources.upkeep.UpkeepView;
import io.fairlead.controller.store.repository.StoredService;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What metrics show of the current state. It remembers the number of runs of each ring, since
 * counting them takes a walk through all buckets, and when the generations were committed that some
 * mux has not applied yet.
 */
public final class MetricsView {
  /**
   * Most generations to remember of a service; those between the oldest and the newest may be
   * forgotten.
   */
  private static final int GENERATIONS_MAX = 1000;

  private record Counted(ServiceImage image, HoldCounts holds, Service metrics) {}

  private final InstantSource clock;

  @GuardedBy("this")
  private Map<String, Counted> counted = Map.of();

  @GuardedBy("this")
  private final Map<String, TreeMap<Long, Long>> committed = new HashMap<>();

  public MetricsView(InstantSource clock) {
    this.clock = clock;
  }

  public synchronized State of(
      Health health, Collection<StoredService> services, Collection<MuxView> muxes) {
    Map<String, Counted> now = new HashMap<>();
    for (StoredService stored : services) {
      ServiceImage image = stored.image();
      Counted last = counted.get(image.config().name());
      now.put(
          image.config().name(),
          last != null && last.image() == image
              ? last
              : new Counted(image, HoldCounts.of(image), service(image)));
      remember(image.config().name(), image.ring(), muxes);
    }
    counted = now;
    committed.keySet().retainAll(now.keySet());
    List<Applied> applied = new ArrayList<>();
    for (MuxView mux : muxes) {
      for (Map.Entry<String, MuxService> each : mux.services().entrySet()) {
        long generation = each.getValue().generation();
        long lag = lag(each.getKey(), generation);
        boolean isUnsupported = each.getValue().isUnsupported();
        applied.add(new Applied(mux.id(), each.getKey(), generation, lag, isUnsupported));
      }
    }
    return new State(
        new Controller(health.leader(), health.epoch(), health.zookeeper()),
        now.values().stream().map(Counted::metrics).toList(),
        now.values().stream().map(this::held).toList(),
        applied);
  }

  private Held held(Counted of) {
    Instant now = clock.instant();
    return new Held(
        of.metrics().name(),
        of.holds().held(now),
        of.holds().oldestAge(now),
        of.holds().nearLimit(now));
  }

  private static Service service(ServiceImage image) {
    UpkeepView upkeep = UpkeepView.of(image);
    return new Service(
        image.config().name(),
        image.config().id(),
        image.ring().generation(),
        image.pool().size(),
        image.ring().buckets(),
        upkeep.rules(),
        upkeep.fragmentation(),
        upkeep.imbalance(),
        image.upkeep().filter(UpkeepState::isRunning).isPresent(),
        Maps.transformValues(image.transitions().slowStarts(), SlowStart::part));
  }

  @GuardedBy("this")
  private void remember(String service, Ring ring, Collection<MuxView> muxes) {
    TreeMap<Long, Long> times = committed.computeIfAbsent(service, name -> new TreeMap<>());
    if (!times.isEmpty() && times.lastKey() > ring.generation()) {
      times.clear(); // another service of that name
    }
    times.putIfAbsent(ring.generation(), ring.committed());
    long slowest =
        muxes.stream()
            .map(mux -> mux.services().get(service))
            .filter(state -> state != null)
            .mapToLong(MuxService::generation)
            .min()
            .orElse(ring.generation());
    times.headMap(Math.min(slowest, ring.generation()), false).clear();
    if (times.size() > GENERATIONS_MAX) {
      times.remove(times.higherKey(times.firstKey()));
    }
  }

  /** Seconds since the commit of the first generation that the mux has not applied. */
  @GuardedBy("this")
  private long lag(String service, long applied) {
    TreeMap<Long, Long> times = committed.get(service);
    Map.Entry<Long, Long> missing = times == null ? null : times.higherEntry(applied);
    return missing == null ? 0 : Math.max(0, clock.instant().getEpochSecond() - missing.getValue());
  }
}
