// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.resources.agents.FakeConnections;
import java.time.Instant;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Holds of buckets that connections have two of (protocol/README.md §1, Two buckets): at random,
 * connections open at the owner of either bucket and close, buckets move, agents are asked, answer,
 * and what may be released is. A list of each bucket's owners that were not released yet says
 * whether packets still reach a connection by one of its buckets.
 */
class TwoBucketsHoldTest {
  private static final int BACKENDS = 5;
  private static final int BUCKETS = 6;
  private static final int STEPS = 3000;

  private record Connection(int first, int second, int server) {}

  private final FakeConnections live = new FakeConnections();
  private final Questions questions = new Questions(live, since -> since);
  private final HeldStory story = new HeldStory(BACKENDS).hold(HeldStory.WINDOW, 604_800);
  private final List<Connection> connections = new ArrayList<>();

  /** By bucket, the former owners that its packets name, the earliest first. */
  private final Map<Integer, List<Integer>> former = new TreeMap<>();

  private int lost;
  private int released;
  private int single;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void noReleaseLosesAConnection(long seed) {
    run(seed, true);
    assertThat(lost).as("seed %d", seed).isZero();
    assertThat(released).as("seed %d", seed).isGreaterThan(20);
    assertThat(single).as("seed %d", seed).isPositive();
  }

  /** The rule {@code reports}: without it connections at their second bucket's owner are lost. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void agentsHaveToReportBothBuckets(long seed) {
    run(seed, false);
    assertThat(lost).as("seed %d", seed).isPositive();
  }

  private void run(long seed, boolean byBoth) {
    Random random = new Random(seed);
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      story.move(1 + bucket % BACKENDS, bucket);
      former.put(bucket, new ArrayList<>());
    }
    story.wait(HeldStory.WINDOW);
    report(byBoth);
    for (int step = 0; step < STEPS; step++) {
      switch (random.nextInt(8)) {
        case 0, 1 -> open(random);
        case 2, 3 -> close(random);
        case 4 -> move(random);
        case 5 -> story.wait(random.nextInt(2 * HeldStory.WINDOW));
        case 6 -> {
          questions.ask(story.image(), Instant.ofEpochSecond(story.now()));
          report(byBoth);
          live.answer();
        }
        default -> release();
      }
      connections.removeIf(
          each -> {
            lost += isReached(each) ? 0 : 1;
            return !isReached(each);
          });
    }
  }

  /** The owner of the first bucket takes it, or that of the second: hunt and maat do either. */
  private void open(Random random) {
    int first = random.nextInt(BUCKETS);
    int second = random.nextInt(BUCKETS);
    int taken = random.nextBoolean() ? first : second;
    connections.add(new Connection(first, second, ring().current(taken)));
  }

  private void close(Random random) {
    if (!connections.isEmpty()) {
      connections.remove(random.nextInt(connections.size()));
    }
  }

  /** As the controller does: no full bucket to another one. */
  private void move(Random random) {
    int bucket = random.nextInt(BUCKETS);
    int to = 1 + random.nextInt(BACKENDS);
    int current = ring().current(bucket);
    List<Integer> before = former.get(bucket);
    if (to != current && (before.contains(to) || before.size() < 2)) {
      before.remove(Integer.valueOf(to));
      before.add(current);
      story.move(to, bucket);
    }
  }

  private void report(boolean byBoth) {
    for (int server = 1; server <= BACKENDS; server++) {
      BitSet buckets = new BitSet();
      for (Connection each : connections) {
        if (each.server() == server) {
          buckets.set(each.first());
          if (byBoth) {
            buckets.set(each.second());
          }
        }
      }
      live.has(server, buckets);
    }
  }

  private void release() {
    Release release = story.release(questions);
    Runs runs = release.runs();
    for (int run = 0; run < runs.size(); run++) {
      int owner = runs.owner(run);
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        former.get(bucket).removeIf(each -> owner == 0 || each == owner);
      }
    }
    assertThat(release.atLimit()).isZero();
    released += release.byReport();
    single += release.single();
    if (runs.size() > 0) {
      story.apply(release);
    }
  }

  private boolean isReached(Connection connection) {
    return isReached(connection.first(), connection.server())
        || isReached(connection.second(), connection.server());
  }

  private boolean isReached(int bucket, int server) {
    return ring().current(bucket) == server || former.get(bucket).contains(server);
  }

  private Ring ring() {
    return story.image().ring();
  }
}
