// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import java.time.Duration;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Agents of one service, for tests: a test says which backends have one and in which buckets they
 * have connections, and when they answer what they are asked.
 */
public final class FakeConnections implements LiveConnections {
  private record Question(String name, BitSet buckets) {}

  private final Map<Integer, Question> questions = new HashMap<>();
  private final Map<Integer, Occupied> answers = new HashMap<>();
  private final Map<Integer, BitSet> connections = new HashMap<>();
  private final Set<Integer> heard = new HashSet<>();
  private int last;

  /** The backend has an agent, and connections in these buckets. */
  public synchronized FakeConnections has(int backend, int... buckets) {
    BitSet set = new BitSet();
    for (int bucket : buckets) {
      set.set(bucket);
    }
    return has(backend, set);
  }

  public synchronized FakeConnections has(int backend, BitSet buckets) {
    heard.add(backend);
    connections.put(backend, (BitSet) buckets.clone());
    return this;
  }

  /** The backend's agent has stopped. */
  public synchronized void silence(int backend) {
    heard.remove(backend);
    answers.remove(backend);
  }

  /** All agents that are heard answer by what their backends have now. */
  public synchronized void answer() {
    questions.forEach(
        (backend, question) -> {
          if (heard.contains(backend)) {
            BitSet left = (BitSet) question.buckets().clone();
            left.and(connections.get(backend));
            answers.put(
                backend,
                new Occupied(
                    left, left.cardinality(), question.name(), Duration.ZERO, Duration.ZERO));
          }
        });
  }

  /** What the backend is asked about now; empty if nothing. */
  public synchronized BitSet asked(int backend) {
    Question question = questions.get(backend);
    return question == null ? new BitSet() : (BitSet) question.buckets().clone();
  }

  /** How many questions there have been. */
  public synchronized int questions() {
    return last;
  }

  @Override
  public synchronized Optional<Count> connections(String service, int backend) {
    return heard.contains(backend)
        ? Optional.of(
            new Count(
                connections.get(backend).cardinality(),
                0,
                Duration.ZERO,
                Optional.of(Duration.ZERO)))
        : Optional.empty();
  }

  @Override
  public synchronized long connections(String service, Set<Integer> backends) {
    return backends.stream()
        .flatMap(each -> connections(service, each).stream())
        .mapToLong(Count::all)
        .sum();
  }

  @Override
  public synchronized Optional<String> ask(String service, int backend, BitSet buckets) {
    if (buckets.isEmpty()) {
      questions.remove(backend);
      answers.remove(backend);
      return Optional.empty();
    }
    Question before = questions.get(backend);
    if (before == null || !before.buckets().equals(buckets)) {
      questions.put(backend, new Question("q" + ++last, (BitSet) buckets.clone()));
      answers.remove(backend);
    }
    return Optional.of(questions.get(backend).name());
  }

  @Override
  public synchronized Optional<Occupied> occupied(String service, int backend) {
    return Optional.ofNullable(answers.get(backend));
  }

  @Override
  public void watch(String service, int backend) {
    // Answers come when a test says so.
  }
}
