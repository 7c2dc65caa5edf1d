// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongSupplier;

/**
 * How far each server has reported its connections of one service. A server's memory has a name;
 * once anything is missing from it, it gets another, upon which the server reports its whole set.
 * Thread-safe.
 */
final class Memories {
  /** A server that was not heard for so long is silent. */
  static final Duration SILENCE = Duration.ofSeconds(30);

  private final LongSupplier nanos;
  private final Marks marks;
  private final long began;
  private final long waitingMax;
  private final long knownMax;

  /** By backend; a server that is two backends has one memory. */
  @GuardedBy("this")
  private final Map<Integer, Memory> memories = new HashMap<>();

  @GuardedBy("this")
  private int names;

  @GuardedBy("this")
  private long waiting;

  /** One of a server. */
  static final class Memory {
    private List<Integer> backends;
    private String name;
    private boolean isUsed;

    /** What is accepted next: parts of a whole set, or changes. */
    private boolean isCollecting;

    private boolean isAccepted;

    /** Whether the whole set has been taken in. */
    private boolean isComplete;

    private OptionalLong through = OptionalLong.empty();
    private long heard;
  }

  /**
   * A report that was accepted, to be taken in by the owner of the map.
   *
   * @param written when the report was written at the earliest, by the clock
   */
  record Accepted(Memory memory, String name, Changes changes, OptionalLong written) {}

  /**
   * The answer to a server.
   *
   * @param refused why its connections were not used, if so
   */
  record Answer(String memory, String mark, Optional<String> refused) {}

  /** What is known of a backend's server. */
  enum State {
    /** Not heard for {@link #SILENCE}. */
    SILENT,
    /** Its whole set has not been taken in. */
    INCOMPLETE,
    /** Complete, and not yet reported past the moment asked for. */
    LATE,
    REPORTED
  }

  /**
   * @param waitingMax most connections that wait to be taken in
   * @param knownMax most connections that are known
   */
  Memories(LongSupplier nanos, long random, long waitingMax, long knownMax) {
    this.nanos = nanos;
    this.marks = new Marks(nanos, random);
    this.began = nanos.getAsLong();
    this.waitingMax = waitingMax;
    this.knownMax = knownMax;
  }

  interface Sink {
    void take(Accepted accepted);
  }

  /**
   * Takes in a report of the server that is these backends, or only that it was heard.
   *
   * @param known how many connections are known
   */
  synchronized Answer accept(
      List<Integer> backends, Optional<Changes> report, long known, Sink sink) {
    Memory memory = memory(backends);
    memory.heard = nanos.getAsLong();
    Optional<String> refused = Optional.empty();
    if (report.isPresent()) {
      Changes changes = report.get();
      int size = changes.opened().length + changes.closed().length;
      if (!changes.memory().equals(memory.name)) {
        if (memory.isUsed) {
          renew(memory);
        }
      } else if (waiting + size > waitingMax) {
        refused =
            Optional.of("the controller has %d reported connections to take in".formatted(waiting));
        renew(memory);
      } else if (known + waiting + changes.opened().length > knownMax) {
        refused =
            Optional.of(
                "%d connections are known and %d wait; allowed: %d"
                    .formatted(known, waiting, knownMax));
        renew(memory);
      } else if (!isNext(memory, changes)) {
        renew(memory);
      } else {
        memory.isUsed = true;
        memory.isCollecting = changes.whole() && !changes.last();
        memory.isAccepted |= changes.whole() && changes.last();
        waiting += size;
        sink.take(new Accepted(memory, memory.name, changes, marks.issued(changes.mark())));
      }
    }
    return new Answer(memory.name, marks.issue(), refused);
  }

  private static boolean isNext(Memory memory, Changes changes) {
    return changes.whole()
        ? changes.first() || memory.isCollecting
        : memory.isAccepted && !memory.isCollecting;
  }

  /** The server's memory; another one if it is not the same backends any more. */
  @GuardedBy("this")
  private Memory memory(List<Integer> backends) {
    Memory memory = memories.get(backends.get(0));
    if (memory == null || !memory.backends.equals(backends)) {
      memory = new Memory();
      memory.backends = List.copyOf(backends);
      renew(memory);
      for (int backend : backends) {
        memories.put(backend, memory);
      }
    }
    return memory;
  }

  @GuardedBy("this")
  private void renew(Memory memory) {
    memory.name = "%s-%d".formatted(marks.term(), ++names);
    memory.isUsed = false;
    memory.isCollecting = false;
    memory.isAccepted = false;
    memory.isComplete = false;
    memory.through = OptionalLong.empty();
  }

  /** Forgets that the server has reported: something of it was not taken in. */
  synchronized void lost(Accepted accepted) {
    if (isCurrent(accepted)) {
      renew(accepted.memory());
    }
  }

  /** Whether what was accepted is still to be taken in; called before {@link #taken}. */
  synchronized boolean isCurrent(Accepted accepted) {
    return accepted.memory().name.equals(accepted.name());
  }

  /** After a report was taken in, or dropped. */
  synchronized void taken(Accepted accepted) {
    Changes changes = accepted.changes();
    waiting -= changes.opened().length + changes.closed().length;
    Memory memory = accepted.memory();
    if (isCurrent(accepted) && changes.last()) {
      memory.isComplete |= changes.whole();
      if (accepted.written().isPresent()
          && (memory.through.isEmpty()
              || accepted.written().getAsLong() - memory.through.getAsLong() > 0)) {
        memory.through = accepted.written();
      }
    }
  }

  /** The backends as which this server reports. */
  static List<Integer> backends(Accepted accepted) {
    return accepted.memory().backends;
  }

  /**
   * How far the backend's server has reported.
   *
   * @param since the moment, by the clock, after which a report must have been written; empty: any
   */
  synchronized State state(int backend, OptionalLong since) {
    long now = nanos.getAsLong();
    Memory memory = memories.get(backend);
    long heard = memory == null ? began : memory.heard;
    if (now - heard > SILENCE.toNanos()) {
      return State.SILENT;
    }
    if (memory == null || !memory.isComplete) {
      return State.INCOMPLETE;
    }
    return since.isEmpty() || isThrough(memory, since.getAsLong()) ? State.REPORTED : State.LATE;
  }

  private static boolean isThrough(Memory memory, long since) {
    return memory.through.isPresent() && memory.through.getAsLong() - since >= 0;
  }

  /**
   * Whether the backend's server has yet to report what it had at this moment, however long it has
   * been silent. One that was never heard may have no agent; then it counts for {@link #SILENCE}
   * only.
   *
   * @param since the moment by the clock; empty: it is still to come
   * @param allHaveAgents as there would be no arrays without one on every server
   */
  synchronized boolean isAwaited(int backend, OptionalLong since, boolean allHaveAgents) {
    Memory memory = memories.get(backend);
    if (memory == null) {
      return allHaveAgents || nanos.getAsLong() - began <= SILENCE.toNanos();
    }
    return since.isEmpty() || !memory.isComplete || !isThrough(memory, since.getAsLong());
  }

  /** Whether anything was heard of the backend's server lately. */
  synchronized boolean isHeard(int backend) {
    Memory memory = memories.get(backend);
    return memory != null && nanos.getAsLong() - memory.heard <= SILENCE.toNanos();
  }
}
