// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The timer of all services' {@link EventQueue}s, on one thread. Deadlines are times of the wall
 * clock, as windows are, and an alarm is set by the monotonic one. So {@link #compareClocks} has
 * alarms set again once the wall clock was set, was slewed, or the machine has slept.
 */
public final class EventTimer {
  /** How often clocks are compared: an event is late by this at most after a clock was set. */
  public static final Duration COMPARISONS = Duration.ofMillis(500);

  /** Alarms are set again once the clocks have parted by more than this. */
  static final Duration PARTED = Duration.ofMillis(100);

  /** Longest alarm: a deadline may be further away than nanoseconds can say. */
  private static final Duration LONGEST = Duration.ofDays(1);

  /** Runs something after a delay. */
  public interface Alarms {
    Future<?> in(Duration delay, Runnable ring);
  }

  private final Alarms alarms;
  private final InstantSource wall;
  private final LongSupplier nanos;
  private final Supplier<Optional<Instant>> lead;
  private final Set<EventQueue> queues = ConcurrentHashMap.newKeySet();

  /** How far the wall clock is ahead of the monotonic one, as alarms were set. */
  private Duration ahead;

  /**
   * @param nanos a monotonic clock, as {@link System#nanoTime}
   * @param lead the time for what a leader does by itself; empty while it can do nothing
   */
  public EventTimer(
      Alarms alarms, InstantSource wall, LongSupplier nanos, Supplier<Optional<Instant>> lead) {
    this.alarms = alarms;
    this.wall = wall;
    this.nanos = nanos;
    this.lead = lead;
    ahead = ahead();
  }

  /**
   * Alarms on a thread of their own; those that are taken back leave nothing behind, and those that
   * are set after its end do not ring.
   */
  public static ScheduledThreadPoolExecutor thread(ThreadFactory named) {
    ScheduledThreadPoolExecutor thread = new ScheduledThreadPoolExecutor(1, named);
    thread.setRemoveOnCancelPolicy(true);
    thread.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    return thread;
  }

  void add(EventQueue queue) {
    queues.add(queue);
  }

  void remove(EventQueue queue) {
    queues.remove(queue);
  }

  Optional<Instant> lead() {
    return lead.get();
  }

  /** The wall clock, which may be wrong. */
  Instant wall() {
    return wall.instant();
  }

  long nanos() {
    return nanos.getAsLong();
  }

  /** At {@code due} by the wall clock, but not before {@code earliest} by the monotonic one. */
  Future<?> at(Instant due, long earliest, Runnable ring) {
    Instant now = wall();
    Duration left = due.isAfter(now) ? Duration.between(now, due) : Duration.ZERO;
    Duration least = Duration.ofNanos(Math.max(0, earliest - nanos()));
    Duration delay = left.compareTo(least) > 0 ? left : least;
    return alarms.in(delay.compareTo(LONGEST) > 0 ? LONGEST : delay, ring);
  }

  /** Called every {@link #COMPARISONS}. */
  public void compareClocks() {
    Duration now = ahead();
    if (now.minus(ahead).abs().compareTo(PARTED) > 0) {
      ahead = now;
      queues.forEach(EventQueue::clockSet);
    }
  }

  private Duration ahead() {
    Instant now = wall();
    return Duration.ofSeconds(now.getEpochSecond(), now.getNano()).minusNanos(nanos());
  }

  /** Of a thread, for {@link Alarms}. */
  public static Alarms alarms(ScheduledThreadPoolExecutor thread) {
    return (delay, ring) -> thread.schedule(ring, delay.toNanos(), TimeUnit.NANOSECONDS);
  }
}
