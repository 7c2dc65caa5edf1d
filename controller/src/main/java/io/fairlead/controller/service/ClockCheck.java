// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Unavailable;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The clock that dates commits, compared with ZooKeeper's. A bucket's {@code since} is this clock's
 * time and never goes back: one commit by a clock that is a month ahead would end the chaining of
 * its service's buckets for a month. So nothing is committed while the two clocks differ by more
 * than {@link #MOST}.
 *
 * <pre>
 *   this machine     sent ─────────────────── answered ───────────────────── now
 *   ZooKeeper                  written: time z                   between  z + (now - answered)
 *                                                                    and  z + (now - sent)
 * </pre>
 *
 * <p>The intervals are measured by the monotonic clock, so a wall clock that jumps after the sample
 * is noticed at the next commit, without a request. The round trip widens the interval: a clock
 * inside of it may be right. The difference is the least that is certain, so that a slow ZooKeeper
 * alone refuses nothing; the most that passes is {@link #MOST} and the round trip of the sample, of
 * {@link #ROUND_TRIP_MAX} at most as long as one of that kind is known.
 *
 * <p>Thread-safe.
 */
public final class ClockCheck {
  static final Duration MOST = Duration.ofSeconds(2);
  public static final Duration PERIOD = Duration.ofSeconds(2);
  static final Duration ROUND_TRIP_MAX = Duration.ofSeconds(1);

  /** A sample is used for so long. */
  static final Duration AGE_MAX = Duration.ofMinutes(1);

  /** A refused commit asks ZooKeeper again unless it was asked within this time. */
  static final Duration AGE_MIN = Duration.ofMillis(500);

  /** Writes to ZooKeeper, and returns the time that it gave the write in Unix milliseconds. */
  public interface Source {
    long write() throws StoreException;
  }

  /** A monotonic clock's time of a write to ZooKeeper, and ZooKeeper's. */
  private record Sample(long sent, long answered, long millis) {
    Duration roundTrip() {
      return Duration.ofNanos(answered - sent);
    }
  }

  /**
   * @param millis by which this clock is certainly ahead of ZooKeeper's, negative: behind
   */
  private record Reading(Instant wall, long millis) {
    boolean isAllowed() {
      return Math.abs(millis) <= MOST.toMillis();
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(ClockCheck.class);

  private final InstantSource clock;
  private final LongSupplier nanos;
  private final Source source;
  private final Runnable refused;
  private final boolean isOn;
  private volatile Sample last;

  @GuardedBy("this")
  private boolean wasAllowed = true;

  /**
   * @param nanos a monotonic clock, as {@link System#nanoTime}
   * @param refused runs for each refused commit
   */
  public ClockCheck(InstantSource clock, LongSupplier nanos, Source source, Runnable refused) {
    this(clock, nanos, source, refused, true);
  }

  private ClockCheck(
      InstantSource clock, LongSupplier nanos, Source source, Runnable refused, boolean isOn) {
    this.clock = clock;
    this.nanos = nanos;
    this.source = source;
    this.refused = refused;
    this.isOn = isOn;
  }

  /** Trusts {@code clock} whatever it says; still measures. */
  public static ClockCheck off(InstantSource clock, LongSupplier nanos, Source source) {
    return new ClockCheck(clock, nanos, source, () -> {}, false);
  }

  /** A time that is compared with nothing. */
  Instant shown() {
    return clock.instant();
  }

  /** As above, in Unix seconds. */
  public long shownSeconds() {
    return shown().getEpochSecond();
  }

  /**
   * The time for what a leader does by itself; empty while it could commit nothing of it, as the
   * clock is off or ZooKeeper's time is not known.
   */
  public Optional<Instant> lead() {
    if (!isOn) {
      return Optional.of(shown());
    }
    return isOutdated()
        ? Optional.empty()
        : Optional.of(read()).filter(Reading::isAllowed).map(Reading::wall);
  }

  /** As above, in Unix seconds. */
  public OptionalLong leadSeconds() {
    return lead().map(now -> OptionalLong.of(now.getEpochSecond())).orElse(OptionalLong.empty());
  }

  /**
   * For how many seconds at least something has existed that was written at this Unix second; 0 if
   * that is not known.
   */
  public long age(long written) {
    return Math.max(0, leadSeconds().orElse(written) - written);
  }

  /**
   * The whole second to commit, or only to plan, a write with.
   *
   * @throws Refusal if the write is to be committed and the clock is off, or ZooKeeper's time is
   *     not known
   */
  public Instant second(WriteOptions options) {
    return (isOn && !options.dryRun() ? compared() : shown()).truncatedTo(ChronoUnit.SECONDS);
  }

  /**
   * Compares the clocks again, called every {@link #PERIOD}; logs when they begin or cease to
   * differ.
   *
   * @throws StoreException if ZooKeeper's time is not known
   */
  public synchronized void sample() throws StoreException {
    long sent = nanos.getAsLong();
    long millis = source.write();
    Sample sample = new Sample(sent, nanos.getAsLong(), millis);
    if (isOutdated() || sample.roundTrip().compareTo(ROUND_TRIP_MAX) <= 0) {
      last = sample;
    }
    Reading now = read();
    if (now.isAllowed() != wasAllowed) {
      wasAllowed = now.isAllowed();
      if (wasAllowed) {
        LOG.info("the clocks of this controller and of ZooKeeper agree again");
      } else {
        LOG.error(
            "clock {}: {}", value(now), isOn ? "commits are refused" : "the check is switched off");
      }
    }
  }

  /**
   * Seconds by which this clock is ahead of ZooKeeper's for certain, negative if it is behind, 0 if
   * it may be right; NaN while ZooKeeper's time is not known.
   */
  public double difference() {
    return isOutdated() ? Double.NaN : read().millis() / 1000.0;
  }

  private Instant compared() {
    if (!isOutdated()) {
      Reading reading = read();
      if (reading.isAllowed()) {
        return reading.wall();
      }
    }
    return comparedAgain();
  }

  /** One of the clocks may have been set right, or this machine have slept. */
  private synchronized Instant comparedAgain() {
    if (isOutdated() || age().compareTo(AGE_MIN) >= 0) {
      try {
        sample();
      } catch (StoreException e) {
        if (isOutdated()) {
          throw Unavailable.store(e);
        }
        LOG.debug("{}", e.getMessage());
      }
    }
    Reading reading = read();
    if (!reading.isAllowed()) {
      refused.run();
      throw Unavailable.clock(value(reading), MOST);
    }
    return reading.wall();
  }

  private boolean isOutdated() {
    return last == null || age().compareTo(AGE_MAX) > 0;
  }

  private Duration age() {
    return Duration.ofNanos(nanos.getAsLong() - last.answered());
  }

  /** The monotonic clock is read on both sides, since this thread may be stopped in between. */
  private Reading read() {
    Sample sample = last;
    long before = nanos.getAsLong();
    Instant wall = clock.instant();
    long after = nanos.getAsLong();
    long least = sample.millis() + millis(before - sample.answered());
    long most = sample.millis() + millis(after - sample.sent());
    long now = wall.toEpochMilli();
    return new Reading(wall, now > most ? now - most : Math.min(0, now - least));
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }

  private static String value(Reading reading) {
    return "%s, while ZooKeeper's is %s"
        .formatted(
            Instant.ofEpochMilli(reading.wall().toEpochMilli()),
            Instant.ofEpochMilli(reading.wall().toEpochMilli() - reading.millis()));
  }
}
