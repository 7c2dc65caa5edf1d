// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import java.time.Duration;
import java.util.BitSet;
import java.util.Optional;
import java.util.Set;

/**
 * The connections that live on backends, as the agents on the servers report them to the leader.
 * Empty always means unknown, never zero: the agent was never heard, has been silent for {@link
 * #SILENCE}, or knows another state of the service; or this controller has just begun to lead.
 * Thread-safe; no call waits.
 */
public interface LiveConnections {
  /** A report older than this says nothing any more. */
  Duration SILENCE = Duration.ofSeconds(30);

  /** How long a backend is watched, unless {@link #watch} is called again. */
  Duration WATCH = Duration.ofSeconds(30);

  /**
   * @param established TCP connections, MPTCP subflows counted one by one
   * @param halfOpen those that have not completed the handshake
   * @param age of the report, since it was received
   * @param asked how long ago the question was asked that it answers, for backends that are {@link
   *     #watch}ed: the agent looked later than that, however long its report was under way
   */
  record Count(long established, long halfOpen, Duration age, Optional<Duration> asked) {
    public boolean isNone() {
      return all() == 0;
    }

    public long all() {
      return established + halfOpen;
    }
  }

  /**
   * The answer to a question.
   *
   * @param buckets those of the question that have connections, half-open ones included
   * @param connections how many the question's buckets have; if the server is two backends of the
   *     service, how many the buckets of both questions have
   * @param question the name that {@link #ask} returned
   * @param age of the report that answered
   * @param asked how long ago the question was asked; the agent looked later than that
   */
  record Occupied(
      BitSet buckets, long connections, String question, Duration age, Duration asked) {}

  /**
   * How many connections a backend has. If the server is two backends of the service, those of both
   * count for each.
   */
  Optional<Count> connections(String service, int backend);

  /**
   * How many connections backends of a service have together, those that are unknown left out. A
   * server that is several of them counts once.
   */
  long connections(String service, Set<Integer> backends);

  /** Why {@link #connections} is empty, in words. */
  default String unknown(String service, int backend) {
    return "backend %d has no agent".formatted(backend);
  }

  /**
   * Asks from now on which of {@code buckets} still have connections at the backend, in place of
   * the question before; a set that equals it leaves that question and its answer as they are. The
   * empty set withdraws it. The agent hears of it with its next report, after at most 11 s.
   * Questions are forgotten when leadership is lost, so whoever asks repeats this call now and
   * then.
   *
   * @return the question's name, which no other question ever has; empty if withdrawn, or if there
   *     is no such backend
   */
  Optional<String> ask(String service, int backend, BitSet buckets);

  /** The answer to the backend's current question, empty if there is none yet. */
  Optional<Occupied> occupied(String service, int backend);

  /**
   * Wants reports of the backend every second instead of every ten, for {@link #WATCH}, and each of
   * them to answer a question, by which its moment is known.
   */
  void watch(String service, int backend);
}
