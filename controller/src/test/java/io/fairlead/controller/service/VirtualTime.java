// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;

/** Time that passes only when a test says so, by two clocks, with the alarms and events of it. */
final class VirtualTime implements InstantSource {
  private record Alarm(long at, long number, Runnable ring, CompletableFuture<Void> future) {}

  private final PriorityQueue<Alarm> alarms =
      new PriorityQueue<>(Comparator.comparingLong(Alarm::at).thenComparing(Alarm::number));
  private final Queue<Runnable> events = new ArrayDeque<>();
  private Instant wall;
  private long nanos;
  private long comparedAt;
  private long numbers;

  /** Whether a leader can do anything by itself. */
  boolean isLeading = true;

  /** Whether threads are free to run events. */
  boolean isFree = true;

  final EventTimer timer;

  VirtualTime(Instant start) {
    wall = start;
    timer =
        new EventTimer(
            this::alarm, this, () -> nanos, () -> Optional.of(wall).filter(now -> isLeading));
  }

  private Future<?> alarm(Duration delay, Runnable ring) {
    CompletableFuture<Void> future = new CompletableFuture<>();
    alarms.add(new Alarm(nanos + delay.toNanos(), numbers++, ring, future));
    return future;
  }

  @Override
  public Instant instant() {
    return wall;
  }

  long nanos() {
    return nanos;
  }

  /** How many alarms are set. */
  long alarms() {
    return alarms.stream().filter(each -> !each.future().isDone()).count();
  }

  /** Runs events, one at a time and not before {@link #run}. */
  Executor threads() {
    return events::add;
  }

  /** Sets the wall clock alone. */
  void jump(Duration by) {
    wall = wall.plus(by);
  }

  /** Time passes: alarms ring, clocks are compared, and events run. */
  void pass(Duration time) {
    run();
    long end = nanos + time.toNanos();
    do {
      long compare = comparedAt + EventTimer.COMPARISONS.toNanos();
      long alarm = alarms.isEmpty() ? Long.MAX_VALUE : alarms.peek().at();
      long next = Math.max(nanos, Math.min(end, Math.min(compare, alarm)));
      wall = wall.plusNanos(next - nanos);
      nanos = next;
      if (compare <= nanos) {
        comparedAt = nanos;
        timer.compareClocks();
      }
      while (!alarms.isEmpty() && alarms.peek().at() <= nanos) {
        Alarm ringing = alarms.poll();
        if (!ringing.future().isCancelled()) {
          ringing.future().complete(null);
          ringing.ring().run();
        }
        run();
      }
      run();
    } while (nanos < end);
  }

  /** Runs what waits for a thread, if there are any. */
  void run() {
    while (isFree && !events.isEmpty()) {
      events.poll().run();
    }
  }
}
