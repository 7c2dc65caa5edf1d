// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.hold.Holds;
import io.fairlead.controller.hold.Release;
import io.fairlead.controller.image.ServiceImage;

/**
 * When one service's held buckets are released: at most one generation every {@link
 * #EVERY_SECONDS}. The decision follows from the image, so that a new leader continues where the
 * last one was.
 */
final class Releases {
  static final long EVERY_SECONDS = 5;

  private ServiceImage seen;
  private Holds holds;

  /** Unix seconds of the latest attempt. */
  private long last;

  /** Called every moment: walks through the ring once for each image. */
  synchronized boolean isDue(ServiceImage image, long now) {
    if (image.config().holdSeconds() == 0 || now >= last && now < last + EVERY_SECONDS) {
      return false;
    }
    if (seen != image) {
      seen = image;
      holds = Holds.of(image);
    }
    return holds.due(now) > 0;
  }

  /** What is to be released now; counts as an attempt whatever becomes of it. */
  synchronized Release next(ServiceImage image, long now) {
    last = now;
    return Release.due(image, now);
  }
}
