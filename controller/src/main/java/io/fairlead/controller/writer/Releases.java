// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.agents.LiveConnections;
import io.fairlead.controller.hold.Holds;
import io.fairlead.controller.hold.Questions;
import io.fairlead.controller.hold.Release;
import io.fairlead.controller.hold.SettledMoves;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.muxes.MuxPresence;
import java.util.function.Supplier;

/**
 * When one service's held buckets are looked at: every {@link #EVERY_SECONDS} while there are any.
 * What may be released is, in one generation, and then the owners before are asked about the rest.
 * Limits follow from the image, so that a new leader continues where the last one was; answers it
 * has to hear first.
 */
final class Releases {
  static final long EVERY_SECONDS = 5;

  private final Questions questions;
  private final SettledMoves settled = new SettledMoves();
  private final Supplier<MuxPresence> muxes;
  private ServiceImage seen;
  private Holds holds;

  /** Unix seconds of the latest look. */
  private long last;

  Releases(LiveConnections live, Supplier<MuxPresence> muxes) {
    questions = new Questions(live, settled::settled);
    this.muxes = muxes;
  }

  /** Called every moment: walks through the ring once for each image. */
  synchronized boolean isDue(ServiceImage image, long now) {
    if (image.config().holdSeconds() > 0) {
      settled.see(image, muxes.get(), now);
    }
    if (now >= last && now < last + EVERY_SECONDS) {
      return false;
    }
    if (seen != image) {
      seen = image;
      holds = Holds.of(image);
    }
    return holds.held(now) > 0 || questions.isAsking();
  }

  /** What is to be released now; the next look is {@link #EVERY_SECONDS} away, in any case. */
  synchronized Release next(ServiceImage image, long now) {
    last = now;
    settled.see(image, muxes.get(), now);
    return Release.of(image, now, questions.answers(image.config().name()));
  }

  /** Asks about what is still held. */
  synchronized void ask(ServiceImage image, long now) {
    settled.see(image, muxes.get(), now);
    questions.ask(image, now);
  }
}
