// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import static io.fairlead.controller.core.steering.othello.Claims.Outcome.ADDED;
import static io.fairlead.controller.core.steering.othello.Claims.Outcome.CONTESTED;
import static io.fairlead.controller.core.steering.othello.Claims.Outcome.IMPLAUSIBLE;
import static io.fairlead.controller.core.steering.othello.Claims.Outcome.KNOWN;
import static io.fairlead.controller.core.steering.othello.Claims.Outcome.TAKEN;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.steering.othello.Claims.Outcome;
import io.fairlead.controller.core.steering.othello.Claims.Rule;
import io.fairlead.controller.core.words.Hash;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** What is known after any reports is what a plain map and sets per server say. */
class ClaimsTest {
  private static final int SERVERS = 5;

  /** Server s may have a key whose low bits are s, its owner, or one more. */
  private static final Table RULE = new Table();

  private static final class Table implements Rule {
    int moved; // by so many, all owners are others
    int late;

    @Override
    public boolean mayHave(int server, long key) {
      return server == owner(key) || server == owner(key + 1);
    }

    @Override
    public int owner(long key) {
      return 1 + (int) Math.floorMod(key + moved, (long) SERVERS);
    }

    @Override
    public boolean isPrompt(int server) {
      return server != late;
    }
  }

  /** The same as plainly as possible: each server's open set is a copy. */
  private static final class Plain {
    final Map<Long, Integer> holders = new HashMap<>();
    final Map<Integer, Set<Long>> sets = new HashMap<>();
    final Set<Long> firm = new HashSet<>();

    /** Who else claims a connection, the first one first, and which of that is in a set so far. */
    final Map<Long, Set<Integer>> others = new HashMap<>();

    final Map<Integer, Set<Long>> claimed = new HashMap<>();

    void begin(int server) {
      sets.put(server, new HashSet<>());
      claimed.put(server, new HashSet<>());
    }

    private void claims(int server, long key, boolean isInSet) {
      others.computeIfAbsent(key, any -> new LinkedHashSet<>()).add(server);
      if (isInSet) {
        claimed.getOrDefault(server, new HashSet<>()).add(key);
      }
    }

    private void claimsNot(int server, long key) {
      others.getOrDefault(key, new HashSet<>()).remove(server);
      claimed.getOrDefault(server, new HashSet<>()).remove(key);
    }

    private void lose(long key) {
      holders.remove(key);
      firm.remove(key);
      for (int next : List.copyOf(others.getOrDefault(key, Set.of()))) {
        holders.put(key, next);
        if (claimed.getOrDefault(next, Set.of()).contains(key)) {
          sets.get(next).add(key);
        }
        claimsNot(next, key);
        return;
      }
    }

    long disputed() {
      return others.values().stream().filter(all -> !all.isEmpty()).count();
    }

    Outcome open(int server, long key, Rule rule) {
      Outcome outcome = outcome(server, key, holders.get(key), rule);
      if (outcome == ADDED || outcome == TAKEN || outcome == KNOWN) {
        if (outcome == TAKEN) {
          int holder = holders.get(key);
          claimsNot(server, key);
          claims(holder, key, sets.getOrDefault(holder, new HashSet<>()).remove(key));
        }
        if (outcome != KNOWN) {
          firm.remove(key);
        }
        if (rule.owner(key) == server) {
          firm.add(key);
        }
        holders.put(key, server);
        sets.getOrDefault(server, new HashSet<>()).add(key);
      }
      if (outcome == CONTESTED) {
        claims(server, key, true);
      }
      return outcome;
    }

    private Outcome outcome(int server, long key, Integer holder, Rule rule) {
      if (holder != null && holder == server) {
        return KNOWN;
      }
      if (!rule.mayHave(server, key)) {
        return IMPLAUSIBLE;
      }
      if (holder == null) {
        return ADDED;
      }
      boolean keeps = firm.contains(key) && rule.isPrompt(holder);
      return keeps || rule.owner(key) == holder ? CONTESTED : TAKEN;
    }

    boolean close(int server, long key) {
      sets.getOrDefault(server, new HashSet<>()).remove(key);
      claimsNot(server, key);
      boolean isHeld = holders.getOrDefault(key, 0) == server;
      if (isHeld) {
        lose(key);
      }
      return isHeld;
    }

    int end(int server) {
      Set<Long> said = claimed.remove(server);
      others.forEach((key, all) -> all.removeIf(one -> one == server && !said.contains(key)));
      Set<Long> set = sets.remove(server);
      List<Long> lost = new ArrayList<>(holders.keySet());
      lost.removeIf(key -> holders.get(key) != server || set.contains(key));
      lost.forEach(this::lose);
      return lost.size();
    }
  }

  @Property(tries = 200)
  void knowsWhatPlainSetsSay(@ForAll long seed, @ForAll @IntRange(min = 5, max = 400) int keys) {
    Oracle random = new Oracle(seed);
    Claims claims = new Claims(OthelloMap.sized(random.hash(), seed, 10));
    Plain plain = new Plain();
    Table rule = new Table();
    for (int step = 0; step < 3000; step++) {
      int server = random.server(SERVERS);
      long key = random.key(keys);
      switch (random.random.nextInt(40)) {
        case 0 -> {
          claims.begin(server);
          plain.begin(server);
        }
        case 1 -> {
          if (plain.sets.containsKey(server)) {
            assertThat(claims.end(server)).isEqualTo(plain.end(server));
          }
        }
        case 2 -> {
          if (random.random.nextInt(10) == 0) {
            plain.begin(server);
            assertThat(claims.forget(server)).isEqualTo(plain.end(server));
          }
        }
        case 3 -> {
          if (random.random.nextInt(20) == 0) {
            claims.map().rebuild(seed + step);
          }
          rule.moved = random.random.nextInt(SERVERS);
          rule.late = random.server(SERVERS);
        }
        default -> {
          if (random.random.nextInt(3) > 0) {
            assertThat(claims.open(server, key, rule)).isEqualTo(plain.open(server, key, rule));
          } else {
            assertThat(claims.close(server, key)).isEqualTo(plain.close(server, key));
          }
        }
      }
    }
    assertThat(claims.disputed()).isEqualTo((int) plain.disputed());
    random.servers.putAll(plain.holders);
    random.check(claims.map(), keys, SERVERS);
  }

  @Test
  void whoseTheConnectionIsWhenTwoClaimIt() {
    Claims claims = new Claims(OthelloMap.sized(Hash.SIPHASH, 1, 10));
    long key = 5; // owner 1, and 2 may have it
    assertThat(claims.open(3, key, RULE)).isEqualTo(IMPLAUSIBLE);
    assertThat(claims.open(2, key, RULE)).isEqualTo(ADDED);
    assertThat(claims.open(1, key, RULE)).isEqualTo(TAKEN);
    assertThat(claims.open(2, key, RULE)).isEqualTo(CONTESTED);
    assertThat(claims.open(1, key, RULE)).isEqualTo(KNOWN);
    assertThat(claims.close(2, key)).isFalse();
    assertThat(claims.map().server(key)).isEqualTo(1);
    assertThat(claims.disputed()).as("2 says that it has closed it").isZero();
    assertThat(claims.close(1, key)).isTrue();
    assertThat(claims.map().size()).isZero();
  }

  /** How a server loses a connection that another one claims too; that one has it then. */
  private enum Loss {
    CLOSED,
    NOT_IN_SET,
    FORGOTTEN
  }

  @Test
  void whoClaimsItTooHasItOnceItsServerHasNot() {
    for (Loss loss : Loss.values()) {
      for (boolean isWhole : new boolean[] {false, true}) {
        Claims claims = new Claims(OthelloMap.sized(Hash.SIPHASH, 1, 10));
        long key = 5; // owner 1, and 2 may have it
        assertThat(claims.open(1, key, RULE)).isEqualTo(ADDED);
        if (isWhole) {
          claims.begin(2);
        }
        assertThat(claims.open(2, key, RULE)).isEqualTo(CONTESTED);
        assertThat(claims.disputed()).isEqualTo(1);
        switch (loss) {
          case CLOSED -> assertThat(claims.close(1, key)).isTrue();
          case NOT_IN_SET -> {
            claims.begin(1);
            assertThat(claims.end(1)).isEqualTo(1);
          }
          case FORGOTTEN -> assertThat(claims.forget(1)).isEqualTo(1);
        }
        if (isWhole) {
          assertThat(claims.end(2)).isZero();
        }
        assertThat(claims.map().server(key)).as("%s", loss).isEqualTo(2);
        assertThat(claims.disputed()).isZero();
        assertThat(claims.close(2, key)).isTrue();
        assertThat(claims.map().size()).isZero();
      }
    }
  }

  @Test
  void aClaimThatAnotherSetLacksIsForgotten() {
    Claims claims = new Claims(OthelloMap.sized(Hash.SIPHASH, 1, 10));
    long key = 5; // owner 1, and 2 may have it
    claims.open(2, key, RULE);
    assertThat(claims.open(1, key, RULE)).isEqualTo(TAKEN);
    assertThat(claims.disputed()).isEqualTo(1);
    claims.begin(2);
    assertThat(claims.disputed()).as("until the set is complete").isEqualTo(1);
    assertThat(claims.end(2)).isZero();
    assertThat(claims.disputed()).isZero();
    assertThat(claims.close(1, key)).isTrue();
    assertThat(claims.map().size()).isZero();
  }

  @Test
  void beyondTheBoundAClaimIsNotRemembered() {
    Claims claims = new Claims(OthelloMap.sized(Hash.SIPHASH, 1, 10), 1);
    for (long key : new long[] {5, 10}) { // owner 1, and 2 may have them
      claims.open(1, key, RULE);
      assertThat(claims.open(2, key, RULE)).isEqualTo(CONTESTED);
    }
    assertThat(claims.disputed()).isEqualTo(1);
    claims.forget(1);
    assertThat(claims.map().server(5)).isEqualTo(2);
    assertThat(claims.map().server(10)).isZero();
    claims.open(1, 10, RULE);
    assertThat(claims.open(2, 10, RULE)).as("there is room again").isEqualTo(CONTESTED);
    assertThat(claims.disputed()).isEqualTo(1);
  }

  @Test
  void whoeverHadItBeforeItsBucketMovedKeepsIt() {
    Claims claims = new Claims(OthelloMap.sized(Hash.SIPHASH, 1, 10));
    Table rule = new Table();
    long key = 5; // owner 1, and 2 may have it
    assertThat(claims.open(1, key, rule)).isEqualTo(ADDED);
    rule.moved = SERVERS - 1; // owner 5, and 1 may have it
    assertThat(claims.open(5, key, rule)).isEqualTo(CONTESTED);
    rule.late = 1;
    assertThat(claims.open(5, key, rule)).isEqualTo(TAKEN);
    rule.late = 0;
    assertThat(claims.open(1, key, rule)).isEqualTo(CONTESTED);
    assertThat(claims.close(5, key)).isTrue();
    assertThat(claims.open(1, key, rule)).as("its claim was kept").isEqualTo(KNOWN);
    assertThat(claims.open(5, key, rule)).isEqualTo(TAKEN);
  }

  @Test
  void theMapGrowsWithTheConnections() {
    for (Hash hash : Hash.values()) {
      Claims claims = new Claims(OthelloMap.sized(hash, 1, 10));
      for (int i = 0; i < 50_000; i++) {
        long key = Prf.at(3, i);
        assertThat(claims.open(RULE.owner(key), key, RULE)).isEqualTo(ADDED);
      }
      assertThat(claims.map().needsRebuild()).isFalse();
      assertThat(claims.map().beside()).as("%s", hash).isLessThan(10);
      claims.begin(1);
      int known = claims.map().size(1);
      assertThat(claims.end(1)).isEqualTo(known).isPositive();
    }
  }

  @Test
  void aSetThatIsBrokenOffForgetsNothing() {
    Claims claims = new Claims(OthelloMap.sized(Hash.SIPHASH, 1, 10));
    claims.open(1, 5, RULE);
    claims.open(1, 10, RULE);
    claims.begin(1);
    claims.open(1, 5, RULE);
    claims.begin(1); // once more from the beginning, with the other one
    claims.open(1, 10, RULE);
    assertThat(claims.map().size()).isEqualTo(2);
    assertThat(claims.end(1)).isEqualTo(1);
    assertThat(claims.map().server(10)).isEqualTo(1);
  }

  @Test
  void aServerThatIsForgottenAmidItsSetLosesNoMore() {
    Claims claims = new Claims(OthelloMap.sized(Hash.SIPHASH, 1, 10));
    claims.begin(1);
    claims.open(1, 5, RULE);
    assertThat(claims.forget(1)).isEqualTo(1);
    assertThat(claims.open(1, 10, RULE)).isEqualTo(ADDED);
    assertThat(claims.end(1)).isZero();
    assertThat(claims.map().server(10)).isEqualTo(1);
  }
}
