// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.resources.hold.Release;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import java.time.Instant;
import java.util.Optional;

/**
 * The image that a write starts from.
 *
 * @param before what leads there from the service's image and has to be committed first
 * @param hold what the write means for chained buckets, if it changes for how long they are
 */
public record Readied(ServiceImage image, Optional<PoolPlan> before, Optional<Result.Hold> hold) {
  /** A service's image, for a write that leaves the configuration as it is. */
  public static Readied of(ServiceImage image) {
    return new Readied(image, Optional.empty(), Optional.empty());
  }

  /**
   * A service's image with {@code wanted} as configuration. If that begins a hold, then without
   * former owners whose window is over, which muxes would name: a generation of its own. A crash
   * between the two commits harms nothing, since such owners mean nothing without a hold. The next
   * one begins the hold (protocol/README.md §5, closed until).
   *
   * @throws Refusal if chained buckets would be so for less time, and the options do not allow that
   */
  public static Readied of(
      ServiceImage image, ServiceConfig wanted, Instant now, WriteOptions options) {
    boolean dryRun = options.dryRun();
    Optional<Result.Hold> hold =
        wanted.holdSeconds() == image.config().holdSeconds()
                && wanted.windowSeconds() == image.config().windowSeconds()
            ? Optional.empty()
            : Optional.of(Release.ofChange(image, wanted, now));
    if (!dryRun && options.onLoss() != OnLoss.FORCE) {
      hold.filter(change -> change.shortenedBuckets() > 0)
          .ifPresent(change -> refuse(image, wanted, now, change));
    }
    if (image.config().holdSeconds() == 0 && wanted.holdSeconds() > 0) {
      Optional<PoolPlan> plan = PoolPlan.closing(image, image.nextCommit(now), dryRun);
      if (plan.isPresent()) {
        return new Readied(plan.get().after().withConfig(wanted), plan, hold);
      }
    }
    return new Readied(image.withConfig(wanted), Optional.empty(), hold);
  }

  /** A generation in which muxes see that a hold begins or ends; empty if none does. */
  public Optional<PoolPlan> turn(ServiceImage former, Instant now, boolean dryRun) {
    return former.config().releasesOwners() == image.config().releasesOwners()
        ? Optional.empty()
        : Optional.of(PoolPlan.of(image, Runs.EMPTY, image.nextCommit(now), dryRun).with(hold));
  }

  private static void refuse(
      ServiceImage image, ServiceConfig wanted, Instant now, Result.Hold change) {
    boolean isWindow = wanted.windowSeconds() < image.config().windowSeconds();
    throw Refusal.conflict(
        isWindow ? "windowSeconds" : "holdSeconds",
        isWindow ? wanted.windowSeconds() : wanted.holdSeconds(),
        ("this in %d s, if none moves until then; or force=true: %d buckets are chained to a"
                + " former owner for less time, %d of them no longer, and their older connections"
                + " break then")
            .formatted(
                Release.secondsLeft(image, wanted, now),
                change.shortenedBuckets(),
                change.releasedBuckets()));
  }

  /** The ring that the write starts from, with the configuration before the write. */
  public ServiceImage withConfigOf(ServiceImage other) {
    return image.withConfig(other.config());
  }
}
