// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which owners of a bucket its packets reach, against servers that remember one move each. */
class ChainsTest {
  private static boolean loses(Ring ring, long now, int to) {
    Chains chains = new Chains(ring, Set.of(), now, Story.WINDOW);
    return chains.loses(0, to);
  }

  @ParameterizedTest
  @CsvSource({
    "1,             2, false",
    "1 2,           3, false",
    "1 2 3,         4, false",
    "1 2 3 4,       5, true", // a fourth move
    "1 2 3 4,       1, false", // it has come back to the one that would be lost
    "1 2 3 4,       3, true", // 3 asks 4, and 4 asks 3
    "1 2 3,         2, true",
    "1 2,           1, false",
    "1 2 1 2 1 2,   1, false", // two can go on for ever
    "1 2 1 2,       3, false",
    "1 2 1 2 3,     4, false",
    "1 2 3 1,       4, false",
    "1 2 3 4 1,     5, true", // now 2
    "1 2 3 4 5,     6, true", // 1 is lost already, now 2
    "1 2 3 2,       3, true", // 1 is lost already, which the history does not say
    "1 2 0,         3, false", // a time without an owner is no move
    "1 2 0,         2, false",
    "1 2,           0, false",
    "1 2 3 4,       0, true", // the next owner will be one hop further away
    "1 2 3 4 0,     5, false", // what there was to lose is lost
  })
  void aMoveLosesAnOwner(String before, int to, boolean isLost) {
    Story story = new Story(6).through(before);
    assertThat(loses(story.ring(), story.now() + 1, to)).isEqualTo(isLost);
    assertThat(loses(story.ring(), story.now() + Story.WINDOW, to)).as("a window later").isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "1 2 3 4, 4 3 2 1",
    "1 2 3 4 5, 5 4 3 2 1",
    "1 2 0, 0 2 1",
    "1 2 0 2, 2 1", // as if it had never left
    "1 2 0 3, 3 2 1",
    "1 2 3 0 3, 3 2 1",
  })
  void aLineOfOwners(String moves, String line) {
    assertThat(new Story(6).through(moves).line()).isEqualTo(line);
  }

  @Test
  void theWindowOfTheFirstMoveEndsFirst() {
    Story story = new Story(6).through("1 2 3 4");
    Chains chains = new Chains(story.ring(), Set.of(), story.now(), Story.WINDOW);
    assertThat(chains.secondsLeft(0)).isEqualTo(Story.WINDOW - 20);
    assertThat(loses(story.ring(), story.now() + Story.WINDOW - 21, 5)).isTrue();
    assertThat(loses(story.ring(), story.now() + Story.WINDOW - 20, 5)).isFalse();
  }

  /** The dead are left out, as if they had never owned the bucket. */
  @ParameterizedTest
  @CsvSource({
    "1 2,     2, 1, 1", // back to its owner, from whom nothing leads on
    "1 2,     2, 3, 3 1",
    "1 2 3,   3, 2, 2 1",
    "1 2 3,   2, 3, 3 1", // stays, and is chained to 1 past 2
    "1 2 3 4, 3, 4, 4 2 1",
    "1 2 3 4, 4, 5, 5 3 2 1",
    "1 2,     1, 2, 2 0", // nobody is left to chain to
  })
  void theDeadAreLeftOut(String before, int dead, int to, String line) {
    Story story = new Story(6).through(before).to(to, Set.of(dead));
    String without = line.endsWith(" 0") ? line.substring(0, line.length() - 2) : line;
    assertThat(story.line()).isEqualTo(without);
  }

  @Test
  void theDeadLoseNothing() {
    Story story = new Story(6).through("1 2 3 4");
    Chains chains = new Chains(story.ring(), Set.of(4), story.now(), Story.WINDOW);
    assertThat(chains.loses(0, 5)).isFalse();
    Chains middle = new Chains(story.ring(), Set.of(2), story.now(), Story.WINDOW);
    assertThat(middle.loses(0, 5)).as("1 is behind the dead 2 either way").isFalse();
  }

  @Test
  void aRemovedServerThatComesBackIsTheSame() throws Exception {
    Story story = new Story(6).through("1 2 3 4");
    Backend one = story.ring().backends().get(1);
    story.apply(List.of(new Backend(1, one.address(), 0, true)), Runs.EMPTY, story.now());
    story.apply(List.of(one), Runs.EMPTY, story.now());
    assertThat(story.line()).isEqualTo("4 3 2 1");
    story.apply(List.of(Backend.dead(1, one.address())), Runs.EMPTY, story.now());
    assertThat(story.line()).as("it is dead").isEqualTo("4 3 2");
    story.apply(List.of(one), Runs.EMPTY, story.now());
    assertThat(story.line()).isEqualTo("4 3 2");
  }

  /** Servers as they are: each remembers the owner from which it has the bucket, and when. */
  private static final class Servers {
    private record Move(int previous, long since) {}

    private final Map<Integer, Move> memory = new HashMap<>();

    void move(int from, int to, long now) {
      memory.put(to, new Move(from, now));
    }

    Set<Integer> reached(int from, long now) {
      Set<Integer> reached = new HashSet<>(Set.of(from));
      int at = from;
      for (int hops = 0; hops < 3; hops++) {
        Move move = memory.get(at);
        if (move == null || now >= move.since() + Story.WINDOW) {
          break;
        }
        at = move.previous();
        reached.add(at);
      }
      return reached;
    }
  }

  /** Once an owner is lost, more may count as lost than are. */
  @Test
  void agreesWithServersOverRandomMoves() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int lost = 0;
    for (int run = 0; run < 2000; run++) {
      int backends = 2 + random.nextInt(4);
      Story story = new Story(backends).through("1");
      Servers servers = new Servers();
      List<Integer> owners = new ArrayList<>(List.of(1));
      boolean isExact = true;
      for (int move = 0; move < 12; move++) {
        int from = story.ring().current(0);
        int to = 1 + random.nextInt(backends);
        if (to == from) {
          continue;
        }
        story.wait(random.nextInt(60));
        long now = story.now() + 10;
        Set<Integer> before = servers.reached(from, now);
        boolean isLost = loses(story.ring(), now, to);
        story.to(to, Set.of());
        owners.add(to);
        servers.move(from, to, now);
        boolean isReallyLost = !servers.reached(to, now).containsAll(before);
        assertThat(isLost || !isReallyLost).as("seed %d: %s", seed, owners).isTrue();
        assertThat(isLost == isReallyLost || !isExact).as("seed %d: %s", seed, owners).isTrue();
        isExact &= !isReallyLost;
        lost += isReallyLost ? 1 : 0;
      }
    }
    assertThat(lost).isGreaterThan(500);
  }
}
