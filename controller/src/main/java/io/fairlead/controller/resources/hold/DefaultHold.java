// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The hold of one service for which none is set (protocol/README.md §4, {@code holdByDefault}). It
 * begins once the agents of all backends that buckets name report: then each former owner can be
 * released by what its agent says. It ends once none has reported for as long as former owners
 * count, if that takes nothing from a bucket. A service whose datagrams go to former owners has
 * none: no agent counts them, and new flows would go to a former owner for as long. So agents that
 * are silent for a while, or a new leader that has not heard them yet, change nothing.
 *
 * <p>For one thread.
 */
public final class DefaultHold {
  static final Duration EVERY = Duration.ofSeconds(5);

  private static final Logger LOG = LoggerFactory.getLogger(DefaultHold.class);

  private final LiveConnections live;
  private Ring seen;

  /** Of the ring that was seen. */
  private long[] lost;

  /** When it looked last. */
  private Instant last = Instant.EPOCH;

  /** When an agent was heard last; the maximum: this leader has not looked yet. */
  private Instant heard = Instant.MAX;

  /** Why the last change was refused, without figures, which change; empty: it was not. */
  private String refused = "";

  public DefaultHold(LiveConnections live) {
    this.live = live;
  }

  /** A change of the configuration, to be committed. */
  public record Change(ServiceConfig config, WriteOptions options) {
    private static Change of(ServiceConfig before, boolean holds) {
      ServiceConfig config = before.withDefaultHold(holds);
      String what =
          holds
              ? "hold of %s by default: the agents of all its backends report"
              : "window of %s by default: no agent of its backends reports any more";
      return new Change(
          config, WriteOptions.COMMIT.with(Origin.controller(what.formatted(before.name()))));
    }
  }

  /** When it is looked at next; the maximum: never. */
  public Instant due(ServiceImage image, Instant now) {
    if (!image.config().holdByDefault()) {
      return Instant.MAX;
    }
    return now.isBefore(last) ? now : last.plus(EVERY); // the clock may have been set back
  }

  /**
   * What to change now, if anything.
   *
   * @param now a whole second
   */
  public Optional<Change> next(ServiceImage image, Instant now) {
    ServiceConfig config = image.config();
    if (now.isBefore(due(image, now))) {
      return Optional.empty();
    }
    last = now;
    boolean isPossible = !config.chainsDatagrams();
    if (isPossible
        && config.holdSeconds() < ServiceConfig.HOLD_DEFAULT_SECONDS
        && unheard(image, seen(image.ring()), live, now).isEmpty()) {
      return Optional.of(Change.of(config, true));
    }
    if (now.isBefore(heard) || config.holdSeconds() == 0 || isAnyHeard(image)) {
      heard = now;
    }
    if (config.holdSeconds() == 0
        || (isPossible && now.isBefore(heard.plusSeconds(config.holdSeconds())))) {
      return Optional.empty();
    }
    Change change = Change.of(config, false);
    return Release.ofChange(image, change.config(), now).shortenedBuckets() == 0
        ? Optional.of(change)
        : Optional.empty();
  }

  /** The latest change was committed. */
  public void committed() {
    refused = "";
  }

  /** The latest change was refused; logs once why, as it is tried every few seconds. */
  public void refused(ServiceImage image, Refusal why) {
    String reason = why.getMessage().replaceAll("[\\d.]+", "");
    if (!reason.equals(refused)) {
      LOG.warn(
          "service '{}': the hold stays as it is: {}", image.config().name(), why.getMessage());
    }
    refused = reason;
  }

  private boolean isAnyHeard(ServiceImage image) {
    String service = image.config().name();
    return image.pool().keySet().stream().anyMatch(id -> live.connections(service, id).isPresent());
  }

  /** As {@link #lost(Ring)}, once for each ring. */
  private long[] seen(Ring ring) {
    if (ring != seen) {
      seen = ring;
      lost = lost(ring);
    }
    return lost;
  }

  /** When each backend lost its last bucket, by one walk over the ring; the maximum: it has one. */
  private static long[] lost(Ring ring) {
    long[] lost = new long[Backend.MAX + 1];
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      lost[ring.current(bucket)] = Long.MAX_VALUE;
      History owners = ring.history(bucket);
      for (int i = 0; i < owners.size(); i++) {
        lost[owners.owner(i)] = Math.max(lost[owners.owner(i)], owners.since(i));
      }
    }
    return lost;
  }

  /**
   * Why not the agents of all backends with a weight report, and of all that buckets name, as their
   * entries would count for a day; empty if they do.
   */
  private static Optional<String> unheard(
      ServiceImage image, long[] lost, LiveConnections live, Instant now) {
    if (image.pool().values().stream().noneMatch(member -> member.weight() > 0)) {
      return Optional.of("no backend has a weight");
    }
    String service = image.config().name();
    return IntStream.range(1, lost.length)
        .filter(
            id ->
                now.getEpochSecond() - image.config().heldSeconds() < lost[id]
                    || (image.pool().containsKey(id) && image.pool().get(id).weight() > 0))
        .filter(id -> live.connections(service, id).isEmpty())
        .mapToObj(id -> live.unknown(service, id))
        .findFirst();
  }

  /** For how long former owners of buckets count, and why, in words. */
  public static String words(ServiceImage image, LiveConnections live, Instant now) {
    ServiceConfig config = image.config();
    if (config.steering() == SteeringMethod.OTHELLO) {
      return "until no known connection needs them, as steering is othello";
    }
    if (config.holdSeconds() > 0) {
      return "until its agent reports no connections, %d s at most, %s"
          .formatted(
              config.holdSeconds(), config.holdByDefault() ? "by default" : "as holdSeconds says");
    }
    if (config.holdByDefault() && config.chainsDatagrams()) {
      return "for the window of %d s, as datagrams go to former owners for so long"
          .formatted(config.windowSeconds());
    }
    return "for the window of %d s, %s"
        .formatted(
            config.windowSeconds(),
            config.holdByDefault()
                ? "until the agents of all backends report"
                    + unheard(image, lost(image.ring()), live, now).map(": "::concat).orElse("")
                : "as holdSeconds is 0");
  }
}
