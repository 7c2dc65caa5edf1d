// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** A service with a hold whose buckets move as a test says; at first they have no owner. */
final class HeldStory {
  static final int WINDOW = 240;
  static final int HOLD = 3600;
  static final long START = 1_700_000_000;

  private ServiceImage image;
  private long now = START;

  HeldStory(int backends) {
    this(backends, Ring.BUCKETS_MIN);
  }

  HeldStory(int backends, int buckets) {
    ServiceConfig config =
        ServiceConfig.builder(1, "web")
            .buckets(buckets)
            .windowSeconds(WINDOW)
            .holdSeconds(HOLD)
            .build();
    image = new ServiceImage(config, Ring.empty(1, buckets, START - 1000));
    List<Backend> all = new ArrayList<>();
    for (int id = 1; id <= backends; id++) {
      String address = "10.%d.%d.%d".formatted(1 + id / 65536, id / 256 % 256, id % 256);
      all.add(new Backend(id, Address.parse(address).orElseThrow(), 100, false));
    }
    apply(all, Runs.EMPTY);
  }

  /** Moves buckets from whoever has them. */
  HeldStory move(int to, int... buckets) {
    Runs.Builder runs = new Runs.Builder();
    IntStream.of(buckets).sorted().forEach(b -> runs.add(b, 1, to));
    return apply(List.of(), runs.build());
  }

  HeldStory apply(List<Backend> backends, Runs runs) {
    return apply(Delta.after(image.ring(), now, backends, runs));
  }

  HeldStory apply(Release release) {
    return apply(Delta.after(image.ring(), now, List.of(), Runs.EMPTY).releasing(release.runs()));
  }

  private HeldStory apply(Delta delta) {
    try {
      image = image.withRing(image.ring().apply(delta));
    } catch (RefusedException e) {
      throw new AssertionError(e);
    }
    return this;
  }

  HeldStory wait(int seconds) {
    now += seconds;
    return this;
  }

  HeldStory hold(int window, int hold) {
    image =
        image.withConfig(
            image.config().toBuilder()
                .windowSeconds(window)
                .holdSeconds(hold)
                .holdByDefault(false)
                .build());
    return this;
  }

  ServiceImage image() {
    return image;
  }

  long now() {
    return now;
  }

  /** The buckets that may be released now, by report and by limit. */
  Release release(Questions questions) {
    return Release.of(image, Instant.ofEpochSecond(now), questions.answers("web"));
  }
}
