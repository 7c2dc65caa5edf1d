// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.hold.HoldCounts;
import io.fairlead.controller.resources.hold.Questions;
import io.fairlead.controller.resources.hold.Release;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.OptionalLong;

/**
 * Looks at the former owners of buckets, with a hold, every {@link #EVERY} while there are any.
 * Those that may be are released, in one generation, and then the others are asked. Limits follow
 * from the image, so that a new leader continues where the last one was; answers it has to hear
 * first.
 *
 * <p>An answer counts from when its move was settled. So where muxes are is looked at after each
 * commit, and again and again until it is settled.
 */
public final class ReleaseWork implements Work {
  public static final Duration EVERY = Duration.ofSeconds(5);

  private final Questions questions;
  private final SettledServices services;
  private final CommitMetrics metrics;
  private final Commit commit;
  private SettledMoves settled = new SettledMoves(SettledMoves.Told.AT_ONCE);

  /** When {@link #settled} was as it is, by the clock of commits. */
  private Instant settledAt = Instant.EPOCH;

  /** For which {@link #settled} is. */
  private ServiceImage seen;

  /** Whose former owners were looked for last, and whether it names one. */
  private ServiceImage walked;

  private boolean isNaming;

  /** When former owners were looked at last, and by which limits. */
  private Instant last = Instant.EPOCH;

  private ServiceConfig config;

  ReleaseWork(
      LiveConnections live, SettledServices services, CommitMetrics metrics, Commit commit) {
    questions = new Questions(live, this::settledAt);
    this.services = services;
    this.metrics = metrics;
    this.commit = commit;
  }

  /** The Unix second, as far as muxes go. */
  private long settledAt(long since) {
    OptionalLong ago = settled.settledFor(since);
    return ago.isPresent() ? settledAt.getEpochSecond() - ago.getAsLong() : Long.MAX_VALUE;
  }

  private void see(ServiceImage image, Instant now) {
    settledAt = now;
    settled = services.see(image);
    seen = image;
  }

  @Override
  public String tag() {
    return "release";
  }

  @Override
  public Instant due(ServiceImage image, Instant now) {
    boolean holds = image.config().holdSeconds() > 0;
    if (holds && !(image == seen && settled.isSettled(image.ring().generation()))) {
      return EventQueue.AT_ONCE;
    }
    if (!questions.isAsking() && (!holds || (image == walked && !isNaming))) {
      return EventQueue.NEVER;
    }
    return isEarly(image, now) ? last.plus(EVERY) : EventQueue.AT_ONCE;
  }

  /** The clock may have been set back since the last look. */
  private boolean isEarly(ServiceImage image, Instant now) {
    return image.config().equals(config) && !now.isBefore(last) && now.isBefore(last.plus(EVERY));
  }

  @Override
  public void run(ServiceImage image, Instant now) throws StoreException {
    if (image.config().holdSeconds() > 0) {
      see(image, now);
    }
    if (isEarly(image, now)) {
      return;
    }
    if (image != walked) {
      walked = image;
      isNaming = HoldCounts.of(image).named() > 0;
    }
    if (isNaming || questions.isAsking()) {
      last = now;
      config = image.config();
      release(image, image.nextCommit(now));
    }
  }

  private void release(ServiceImage image, Instant now) throws StoreException {
    see(image, now);
    String service = image.config().name();
    ServiceImage left = image;
    Release release = Release.of(image, now, questions.answers(service));
    if (release.runs().size() > 0) {
      PoolPlan plan = PoolPlan.releasing(image, release.runs(), now);
      commit.of(plan, WriteOptions.COMMIT);
      left = plan.after();
      metrics.released(service, "report", release.byReport());
      metrics.released(service, "limit", release.atLimit());
      metrics.released(service, "single", release.single());
    }
    see(left, now);
    questions.ask(left, now);
  }
}
