// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.hold.Holds;
import io.fairlead.controller.resources.hold.Questions;
import io.fairlead.controller.resources.hold.Release;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import java.util.OptionalLong;

/**
 * When the former owners of one service's buckets are looked at, with a hold: every {@link
 * #EVERY_SECONDS} while there are any. Those that may be are released, in one generation, and then
 * the others are asked. Limits follow from the image, so that a new leader continues where the last
 * one was; answers it has to hear first.
 */
final class Releases {
  static final long EVERY_SECONDS = 5;

  private final Questions questions;
  private final SettledServices services;
  private SettledMoves settled = new SettledMoves(SettledMoves.Told.AT_ONCE);
  private ServiceImage seen;
  private Holds holds;

  /** When {@link #settled} was as it is, Unix seconds. */
  private long now;

  /** Unix seconds of the latest look. */
  private long last;

  Releases(LiveConnections live, SettledServices services) {
    questions = new Questions(live, this::settledAt);
    this.services = services;
  }

  /** By the clock of commits, as far as muxes go. */
  private long settledAt(long since) {
    OptionalLong ago = settled.settledFor(since);
    return ago.isPresent() ? now - ago.getAsLong() : Long.MAX_VALUE;
  }

  private void see(ServiceImage image, long seconds) {
    now = seconds;
    settled = services.see(image);
  }

  /** Called every moment: walks through the ring once for each image. */
  synchronized boolean isDue(ServiceImage image, long now) {
    if (image.config().holdSeconds() > 0) {
      see(image, now);
    }
    if (now >= last && now < last + EVERY_SECONDS) {
      return false;
    }
    if (seen != image) {
      seen = image;
      holds = Holds.of(image);
    }
    return holds.named() > 0 || questions.isAsking();
  }

  /** What is to be released now; the next look is {@link #EVERY_SECONDS} away, in any case. */
  synchronized Release next(ServiceImage image, long now) {
    last = now;
    see(image, now);
    return Release.of(image, now, questions.answers(image.config().name()));
  }

  /** Asks about what is still held. */
  synchronized void ask(ServiceImage image, long now) {
    see(image, now);
    questions.ask(image, now);
  }
}
