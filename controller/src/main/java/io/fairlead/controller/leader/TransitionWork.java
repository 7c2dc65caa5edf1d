// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.Drain.End;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.resources.backends.Reserved;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What one service's transitions ask of the leader next: a step of its slow starts, or the end of
 * drains.
 */
final class TransitionWork {
  /** How long an end waits that could not be committed. */
  private static final long RETRY_SECONDS = 5;

  private static final int LISTED = 10;

  private final DrainWatch watch;
  private final CommitMetrics metrics;

  /** Unix seconds before which a step is not repeated that moved nothing. */
  private long stepsIdleUntil;

  /** Unix seconds before which ends are not tried again, after an attempt. */
  private long endsIdleUntil;

  private ServiceImage seen;
  private long seenAt;
  private Reserved reserved;

  TransitionWork(DrainWatch watch, CommitMetrics metrics) {
    this.watch = watch;
    this.metrics = metrics;
  }

  /** A generation to commit in the name of the controller. */
  record Next(PoolPlan plan, WriteOptions options, SortedMap<Integer, End> ends) {}

  /** Called every moment. */
  synchronized boolean isDue(ServiceImage image, long now) {
    return isStepDue(image, now) || !ends(image, now).isEmpty();
  }

  /** What to commit now, if anything. */
  synchronized Optional<Next> next(ServiceImage image, long now) {
    SortedMap<Integer, End> ends = ends(image, now);
    if (!ends.isEmpty()) {
      endsIdleUntil = now + RETRY_SECONDS;
      WriteOptions options = options("end of drain of %s: %s", image, words(image, ends));
      return Optional.of(new Next(PoolPlan.ended(image, ends, now, options), options, ends));
    }
    if (isStepDue(image, now)) {
      PoolPlan plan = PoolPlan.step(image, now);
      if (!plan.isEmpty(image)) {
        String words = Transitions.words(image.transitions(), plan.after().transitions());
        return Optional.of(new Next(plan, options("%2$s of %1$s", image, words), new TreeMap<>()));
      }
      stepsIdleUntil = plan.after().transitions().due();
    }
    return Optional.empty();
  }

  /** After the commit of {@code next}. */
  synchronized void committed(Next next, Result result) {
    endsIdleUntil = 0;
    if (next.ends().isEmpty()) {
      metrics.stepped(result.service(), result.movedBuckets());
    }
    next.ends()
        .values()
        .forEach(
            end ->
                metrics.drained(
                    result.service(), end.reason().word(), end.connections().orElse(0L)));
  }

  private boolean isStepDue(ServiceImage image, long now) {
    return now >= stepsIdleUntil && now >= image.transitions().due();
  }

  private SortedMap<Integer, End> ends(ServiceImage image, long now) {
    boolean isRunning = image.transitions().drains().values().stream().anyMatch(Drain::isRunning);
    if (!isRunning || now < endsIdleUntil) {
      return new TreeMap<>();
    }
    return watch.ended(image, id -> reserved(image, now).secondsLeft(id) > 0, now);
  }

  /** One walk over the ring for each image and second in which it matters. */
  private Reserved reserved(ServiceImage image, long now) {
    if (seen != image || seenAt != now) {
      seen = image;
      seenAt = now;
      reserved = new Reserved(image, now);
    }
    return reserved;
  }

  private static WriteOptions options(String what, ServiceImage image, String words) {
    // The step of slow starts that an end takes with it must not stop the end.
    return WriteOptions.COMMIT
        .with(OnLoss.KEEP)
        .with(Origin.controller(what.formatted(image.config().name(), words)));
  }

  private static String words(ServiceImage image, SortedMap<Integer, End> ends) {
    List<String> words =
        ends.entrySet().stream()
            .limit(LISTED)
            .map(each -> words(image.transitions().drains().get(each.getKey()), each))
            .toList();
    int more = ends.size() - LISTED;
    return words.stream().collect(Collectors.joining("; "))
        + (more > 0 ? " and %d more".formatted(more) : "");
  }

  private static String words(Drain drain, Map.Entry<Integer, End> end) {
    return "backend %d (%s)%s"
        .formatted(
            end.getKey(),
            end.getValue().words(),
            drain.then() == Drain.Then.REMOVE ? ", removed" : "");
  }
}
