// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.Drain.End;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.backends.Reserved;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import io.fairlead.controller.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A step of a service's slow starts, or the end of drains. */
final class TransitionWork implements Work {
  /** How long an end waits that could not be committed. */
  private static final Duration RETRY = Duration.ofSeconds(5);

  private static final int LISTED = 10;

  private final DrainWatch watch;
  private final CommitMetrics metrics;
  private final Commit commit;

  /** Before which a step is not repeated that moved nothing. */
  private Instant stepsIdleUntil = Instant.MIN;

  /** Before which ends are not tried again, after an attempt. */
  private Instant endsIdleUntil = Instant.MIN;

  private ServiceImage seen;
  private Instant seenAt = Instant.MIN;
  private Reserved reserved;

  TransitionWork(DrainWatch watch, CommitMetrics metrics, Commit commit) {
    this.watch = watch;
    this.metrics = metrics;
    this.commit = commit;
  }

  @Override
  public String tag() {
    return "transitions";
  }

  /** While a drain is running its agent is asked, and its muxes are looked at, all the time. */
  @Override
  public Instant due(ServiceImage image, Instant now) {
    Instant step = stepDue(image);
    return isDraining(image) && endsIdleUntil.isBefore(step) ? endsIdleUntil : step;
  }

  private static boolean isDraining(ServiceImage image) {
    return image.transitions().drains().values().stream().anyMatch(Drain::isRunning);
  }

  private Instant stepDue(ServiceImage image) {
    Instant due = instant(image.transitions().due());
    return due.isAfter(stepsIdleUntil) ? due : stepsIdleUntil;
  }

  private static Instant instant(long due) {
    return due == Long.MAX_VALUE ? EventQueue.NEVER : Instant.ofEpochSecond(due);
  }

  @Override
  public void run(ServiceImage image, Instant now) throws StoreException {
    SortedMap<Integer, End> ends = ends(image, now);
    if (!ends.isEmpty()) {
      endsIdleUntil = now.plus(RETRY);
      WriteOptions options = options("end of drain of %s: %s", image, words(image, ends));
      committed(commit.of(PoolPlan.ended(image, ends, now, options), options), ends);
    } else if (!stepDue(image).isAfter(now)) {
      PoolPlan plan = PoolPlan.step(image, now);
      if (plan.isEmpty(image)) {
        stepsIdleUntil = instant(plan.after().transitions().due());
        return;
      }
      String words = Transitions.words(image.transitions(), plan.after().transitions());
      committed(commit.of(plan, options("%2$s of %1$s", image, words)), ends);
    }
  }

  private void committed(Result result, SortedMap<Integer, End> ends) {
    endsIdleUntil = Instant.MIN;
    if (ends.isEmpty()) {
      metrics.stepped(result.service(), result.movedBuckets());
    }
    ends.values()
        .forEach(
            end ->
                metrics.drained(
                    result.service(), end.reason().word(), end.connections().orElse(0L)));
  }

  private SortedMap<Integer, End> ends(ServiceImage image, Instant now) {
    Instant second = now.truncatedTo(ChronoUnit.SECONDS);
    return isDraining(image) && !now.isBefore(endsIdleUntil)
        ? watch.ended(image, id -> reserved(image, second).secondsLeft(id) > 0, now)
        : new TreeMap<>();
  }

  /** One walk over the ring for each image and second in which it matters. */
  private Reserved reserved(ServiceImage image, Instant now) {
    if (seen != image || !seenAt.equals(now)) {
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
