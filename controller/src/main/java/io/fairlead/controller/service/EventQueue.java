// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import com.google.common.util.concurrent.MoreExecutors;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;

/**
 * What concerns one service, one event after another, on any threads: those that come, and deferred
 * ones at their deadlines. A deferred event has a tag, by which it is scheduled once at most:
 * another deadline replaces the one before. (After Kafka's {@code EventQueue}.)
 *
 * <p>Events of one tag begin at least {@link #SPACING} apart. So what stays due is tried again as
 * often: while a drain waits for reports, and after a commit that failed. While the leader can do
 * nothing by itself, deferred events stay scheduled and are tried as often, too.
 *
 * <p>Thread-safe.
 */
final class EventQueue {
  static final Duration SPACING = Duration.ofMillis(500);

  /** The deadline of what is due. */
  static final Instant AT_ONCE = Instant.MIN;

  /** The deadline of what is not to be done. */
  static final Instant NEVER = Instant.MAX;

  /** A deferred event. */
  interface Event {
    /**
     * @param now the leader's time
     */
    void run(Instant now);
  }

  private static final class Deferred {
    private final Instant due;
    private final Event event;
    private Future<?> alarm;

    private Deferred(Instant due, Event event) {
      this.due = due;
      this.event = event;
    }
  }

  private final Executor sequential;
  private final EventTimer timer;
  private final Runnable clockSet;

  /** Those that have not begun, by tag. */
  @GuardedBy("this")
  private final Map<String, Deferred> deferred = new HashMap<>();

  /** When the latest event of a tag began or was tried, by the monotonic clock. */
  @GuardedBy("this")
  private final Map<String, Long> tried = new HashMap<>();

  @GuardedBy("this")
  private boolean isOpen;

  /**
   * @param clockSet an event: deadlines may have changed, as the wall clock was set
   */
  EventQueue(Executor threads, EventTimer timer, Runnable clockSet) {
    sequential = MoreExecutors.newSequentialExecutor(threads);
    this.timer = timer;
    this.clockSet = clockSet;
  }

  /** Takes deferred events from now on. */
  synchronized void open() {
    isOpen = true;
    timer.add(this);
  }

  /** Runs {@code event} after those before it, also while the queue is not open. */
  void execute(Runnable event) {
    sequential.execute(event);
  }

  /**
   * Runs {@code event} at {@code due}, in place of the one that has the tag and has not begun; not
   * if the queue is not open.
   */
  synchronized void schedule(String tag, Instant due, Event event) {
    Deferred before = deferred.get(tag);
    if (!isOpen || (before != null && before.due.equals(due))) {
      return;
    }
    if (before != null) {
      before.alarm.cancel(false);
      deferred.remove(tag);
    }
    if (!due.equals(NEVER)) {
      setAlarm(tag, new Deferred(due, event));
    }
  }

  @GuardedBy("this")
  private void setAlarm(String tag, Deferred event) {
    Long last = tried.get(tag);
    long earliest = last == null ? timer.nanos() : last + SPACING.toNanos();
    deferred.put(tag, event);
    event.alarm = timer.at(event.due, earliest, () -> execute(() -> begin(tag, event)));
  }

  private void begin(String tag, Deferred event) {
    Optional<Instant> now = timer.lead();
    synchronized (this) {
      if (deferred.get(tag) != event) {
        return; // another took its place, or the queue was closed
      }
      if (timer.wall().isBefore(event.due)) {
        setAlarm(tag, event); // it is slower than the clock of alarms, or was set
        return;
      }
      tried.put(tag, timer.nanos());
      if (now.isEmpty()) {
        setAlarm(tag, event);
        return;
      }
      deferred.remove(tag);
    }
    event.event.run(now.get());
  }

  /** The wall clock was set. */
  synchronized void clockSet() {
    for (Map.Entry<String, Deferred> each : Map.copyOf(deferred).entrySet()) {
      if (each.getValue().alarm.cancel(false)) { // one that has rung looks at the clock itself
        setAlarm(each.getKey(), each.getValue());
      }
    }
    execute(clockSet);
  }

  /** Drops deferred events that have not begun, and takes no more. */
  synchronized void close() {
    isOpen = false;
    timer.remove(this);
    deferred.values().forEach(event -> event.alarm.cancel(false));
    deferred.clear();
  }
}
