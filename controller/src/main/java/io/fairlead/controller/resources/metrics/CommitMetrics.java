// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.metrics;

import io.fairlead.controller.resources.plane.Result;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Counts writes and refusals. */
public final class CommitMetrics {
  /** A write with its own kind of exception. */
  public interface Write<T, E extends Exception> {
    T run() throws E;
  }

  private static final Duration[] BOUNDS =
      IntStream.of(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
          .mapToObj(Duration::ofMillis)
          .toArray(Duration[]::new);

  private final MeterRegistry registry;
  private final Timer duration;

  public CommitMetrics(MeterRegistry registry) {
    this.registry = registry;
    this.duration =
        Timer.builder("fairlead.controller.commit")
            .description("Time of a commit in ZooKeeper")
            .serviceLevelObjectives(BOUNDS)
            .register(registry);
  }

  /** Runs a write and measures how long it takes, failed ones included. */
  public <T, E extends Exception> T time(Write<T, E> write) throws E {
    long start = System.nanoTime();
    try {
      return write.run();
    } finally {
      duration.record(System.nanoTime() - start, TimeUnit.NANOSECONDS);
    }
  }

  /** A generation and what it moved. */
  public void committed(String service, Result.Moved moved) {
    registry.counter("fairlead.controller.commits", "service", service).increment();
    registry
        .counter("fairlead.controller.moved.buckets", "service", service)
        .increment(moved.movedBuckets());
    registry
        .counter("fairlead.controller.lost.buckets", "service", service)
        .increment(moved.owners().lostBuckets());
    // There from the start: an alert compares with what was before.
    released(service, "limit", 0);
  }

  /** An iteration of a rebalance or defragmentation. */
  public void iterated(String service, String kind, int movedBuckets) {
    registry
        .counter("fairlead.controller.upkeep.iterations", "service", service, "kind", kind)
        .increment();
    registry
        .counter("fairlead.controller.upkeep.moved.buckets", "service", service, "kind", kind)
        .increment(movedBuckets);
  }

  /** A generation that ends the chaining of held buckets. */
  public void released(String service, String reason, int buckets) {
    registry
        .counter("fairlead.controller.released.buckets", "service", service, "reason", reason)
        .increment(buckets);
  }

  /** A step of slow starts. */
  public void stepped(String service, int movedBuckets) {
    registry.counter("fairlead.controller.slow.start.steps", "service", service).increment();
    registry
        .counter("fairlead.controller.slow.start.moved.buckets", "service", service)
        .increment(movedBuckets);
  }

  /** A step of a staged change, or its end. */
  public void staged(String service, Optional<String> outcome, int movedBuckets) {
    registry
        .counter("fairlead.controller.stage.moved.buckets", "service", service)
        .increment(movedBuckets);
    outcome.ifPresent(
        word ->
            registry
                .counter("fairlead.controller.stages.ended", "service", service, "outcome", word)
                .increment());
  }

  /** The end of a drain. */
  public void drained(String service, String reason, long connections) {
    registry
        .counter("fairlead.controller.drains.ended", "service", service, "reason", reason)
        .increment();
    registry
        .counter("fairlead.controller.drains.left.connections", "service", service)
        .increment(connections);
  }

  public void refused(Enum<?> kind) {
    registry
        .counter("fairlead.controller.refusals", "kind", kind.name().toLowerCase(Locale.ROOT))
        .increment();
  }
}
