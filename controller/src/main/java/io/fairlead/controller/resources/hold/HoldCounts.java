// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Ring;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * How many buckets of one image name a former owner, by the second of their last move. With a hold
 * that is who packets are chained to; a bucket is <em>held</em> once its window is over. Immutable:
 * made in one walk over the ring, and asked at any time after.
 */
public final class HoldCounts {
  private final ServiceConfig config;

  /** Ascending. */
  private final long[] sinces;

  /** Of buckets that moved at the second of the same index. */
  private final int[] counts;

  private HoldCounts(ServiceConfig config, long[] sinces, int[] counts) {
    this.config = config;
    this.sinces = sinces;
    this.counts = counts;
  }

  /** None for a service without a hold. */
  public static HoldCounts of(ServiceImage image) {
    ServiceConfig config = image.config();
    return config.holdSeconds() == 0
        ? new HoldCounts(config, new long[0], new int[0])
        : of(config, image.ring());
  }

  private static HoldCounts of(ServiceConfig config, Ring ring) {
    Map<Long, int[]> named = new HashMap<>();
    long last = -1;
    int[] count = null;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.previous(bucket) != Backend.NONE) {
        if (count == null || ring.since(bucket) != last) {
          last = ring.since(bucket);
          count = named.computeIfAbsent(last, since -> new int[1]);
        }
        count[0]++;
      }
    }
    long[] sinces = named.keySet().stream().mapToLong(Long::longValue).sorted().toArray();
    int[] counts = Arrays.stream(sinces).mapToInt(since -> named.get(since)[0]).toArray();
    return new HoldCounts(config, sinces, counts);
  }

  /** Buckets that name a former owner. */
  public int named() {
    return Arrays.stream(counts).sum();
  }

  /** Those of them whose window is over. */
  public int held(Instant now) {
    return movedUntil(now.getEpochSecond() - config.windowSeconds());
  }

  /** Held buckets of which less than a tenth of their time is left. */
  public int nearLimit(Instant now) {
    long nine = config.heldSeconds() - config.heldSeconds() / 10;
    return movedUntil(now.getEpochSecond() - Math.max(nine, config.windowSeconds()));
  }

  /** Seconds since the last move of the bucket that moved first, 0 if none is named. */
  public long oldestAge(Instant now) {
    return sinces.length == 0 ? 0 : Math.max(0, now.getEpochSecond() - sinces[0]);
  }

  private int movedUntil(long second) {
    int count = 0;
    for (int i = 0; i < sinces.length && sinces[i] <= second; i++) {
      count += counts[i];
    }
    return count;
  }
}
