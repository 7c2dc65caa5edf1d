// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.assign.Upkeep.Limits;
import io.fairlead.controller.core.assign.Upkeep.Step;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import java.util.Arrays;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** The guarantees of each iteration of rebalance and defragmentation, and that they end. */
class UpkeepTest {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;

  @Property(tries = 50)
  void defragmentationKeepsToItsLimitsAndArrives(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    Ring ring = Pools.ring(scattered(random, 256 << random.nextInt(3)), NOW);
    int[] owned = ring.owned();
    double target = 1 + random.nextInt(3) * 0.5;
    Limits limits = new Limits(target, 1 + random.nextInt(8));
    Defragmentation defragmentation = new Defragmentation();
    long now = NOW;
    for (int iteration = 0; ; iteration++) {
      assertThat(iteration).isLessThan(ring.buckets());
      if (random.nextInt(4) == 0) {
        defragmentation = new Defragmentation(); // another controller continues
      }
      Step step = defragmentation.step(ring, new int[0], limits, Pools.formers(now, WINDOW));
      checkLimits(ring, step.runs(), limits, now);
      ring = Pools.apply(ring, step.runs(), now);
      assertThat(ring.owned()).isEqualTo(owned);
      Fragmentation fragmentation = Fragmentation.of(ring);
      assertThat(fragmentation.rules()).isEqualTo(rules(ring));
      assertThat(step.reached()).isEqualTo(fragmentation.rate() <= target);
      if (step.reached()) {
        break;
      }
      now += random.nextInt(2 * WINDOW);
    }
    Step again =
        defragmentation.step(ring, new int[0], limits, Pools.formers(now + WINDOW, WINDOW));
    assertThat(again.reached()).isTrue();
    assertThat(again.runs()).as("at the target nothing moves").isEqualTo(Runs.EMPTY);
  }

  /** The paper's loop ends when no cycle is left among those whose budget is not used up. */
  @Property(tries = 50)
  void anIterationLeavesNoCycle(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    Ring ring = Pools.ring(scattered(random, 512), NOW);
    // One second of moves opens the window of some buckets.
    ring = Pools.apply(ring, Runs.between(ring, swapped(ring, random, 40)), NOW + 900);
    long now = NOW + 1000;
    Limits limits = new Limits(1, 1 + random.nextInt(6));
    Defragmentation defragmentation = new Defragmentation();
    char[] target = defragmentation.target(ring);
    Runs runs = defragmentation.step(ring, new int[0], limits, Pools.formers(now, WINDOW)).runs();
    Ring next = Pools.apply(ring, runs, now);
    int[] given = given(ring, runs);
    boolean[][] edges = new boolean[Backend.MAX + 1][];
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      int from = next.current(bucket);
      int to = target[bucket];
      if (from != to && given[from] < limits.moves() && given[to] < limits.moves()) {
        edges[from] = edges[from] == null ? new boolean[Backend.MAX + 1] : edges[from];
        edges[from][to] = true;
      }
    }
    assertThat(hasCycle(edges)).isFalse();
  }

  @Property(tries = 50)
  void eachRangeGoesToWhoOwnsMostOfIt(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    char[] owners = new char[1024];
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = (char) (1 + bucket / 16);
    }
    Ring ring = Pools.ring(owners, NOW);
    ring = Pools.ring(swapped(ring, random, random.nextInt(2000)), NOW);
    int start = 0;
    boolean[] isPlaced = new boolean[Backend.MAX + 1];
    for (int id : RangeOrder.of(ring)) {
      int most = 0;
      for (int other = 1; other <= 64; other++) {
        most = isPlaced[other] ? most : Math.max(most, within(ring, other, start, start + 16));
      }
      assertThat(isPlaced[id]).isFalse();
      assertThat(within(ring, id, start, start + 16)).isEqualTo(most);
      isPlaced[id] = true;
      start += 16;
    }
  }

  @Test
  void rangesThatAreWholeStayWhereTheyAre() throws Exception {
    int[] weights = Pools.random(new Random(5), 100);
    Ring ring = Ring.empty(1, 4096, NOW);
    Ring whole =
        Pools.apply(
            ring, new BeamerAssignment().assign(ring, weights, Pools.formers(NOW, WINDOW)), NOW);
    Ring disturbed = Pools.ring(swapped(whole, new Random(6), 30), NOW);
    assertThat(new Defragmentation().target(disturbed)).isEqualTo(Pools.owners(whole));
    assertThat(new Defragmentation().target(whole)).isEqualTo(Pools.owners(whole));
  }

  @Property(tries = 50)
  void rebalanceKeepsToItsLimitsAndArrives(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    int buckets = 256 << random.nextInt(3);
    int[] weights = new int[Backend.MAX + 1];
    int[] before = new int[Backend.MAX + 1];
    for (int id = 1; id <= 2 + random.nextInt(9); id++) {
      weights[id] = 1 + random.nextInt(5);
      before[id] = random.nextInt(6);
    }
    before[1]++;
    Ring ring = Ring.empty(1, buckets, NOW - 1);
    ring =
        Pools.apply(
            ring, new BeamerAssignment().assign(ring, before, Pools.formers(NOW, WINDOW)), NOW);
    Limits limits = new Limits(1 + random.nextInt(3) * 0.1, 1 + random.nextInt(20));
    long now = NOW + WINDOW;
    int moved = 0;
    Step whole = new Rebalance().step(ring, weights, noLimit(limits), Pools.formers(now, WINDOW));
    int needed = whole.runs().buckets();
    // Whole buckets cannot always be shared out better than they were; steps only go towards it.
    double goal = Rebalance.imbalance(Pools.apply(ring, whole.runs(), now), weights);
    for (int iteration = 0; ; iteration++) {
      assertThat(iteration).isLessThan(2 * buckets);
      Step step = new Rebalance().step(ring, weights, limits, Pools.formers(now, WINDOW));
      checkLimits(ring, step.runs(), limits, now);
      double imbalance = Rebalance.imbalance(ring, weights);
      ring = Pools.apply(ring, step.runs(), now);
      moved += step.runs().buckets();
      assertThat(Rebalance.imbalance(ring, weights)).isLessThanOrEqualTo(Math.max(imbalance, goal));
      if (step.reached()) {
        assertThat(step.left()).isZero();
        break;
      }
      assertThat(step.left()).isPositive();
      assertThat(moved).isLessThanOrEqualTo(needed);
      now += random.nextInt(2 * WINDOW);
    }
    assertThat(moved).as("no bucket moved twice or for nothing").isEqualTo(needed);
    int[] owned = ring.owned();
    double total = Placement.total(weights);
    for (int id = 1; id < owned.length; id++) {
      double share = buckets * weights[id] / total;
      assertThat((double) owned[id])
          .isLessThan(Math.max(share * limits.target(), share + 1) + 1e-9);
    }
  }

  /** Backend 1 has all buckets, and {@code most} others had them before. */
  private static Ring passedOn(int most) throws Exception {
    Ring ring = Ring.empty(1, 256, NOW - 1);
    for (int i = 0; i <= most; i++) {
      int[] only = new int[Backend.MAX + 1];
      only[i == most ? 1 : 10 + i] = 1;
      Runs runs = new BeamerAssignment().assign(ring, only, Pools.formers(NOW + i, WINDOW));
      ring = Pools.apply(ring, runs, NOW + i);
    }
    return ring;
  }

  @Test
  void fullBucketsStayUntilTheyHaveRoom() throws Exception {
    int[] both = Pools.weights(1, 1);
    Limits limits = new Limits(1, 1000);
    for (int most = 1; most <= History.most(false); most++) {
      Ring ring = passedOn(most);
      Rebalance rebalance = new Rebalance();
      long now = NOW + WINDOW; // a moment before the first of them leaves
      FormerOwners full = new FormerOwners(now, WINDOW, most);
      assertThat(rebalance.step(ring, both, limits, full))
          .isEqualTo(new Step(Runs.EMPTY, false, 128));
      FormerOwners room = new FormerOwners(now + 1, WINDOW, most);
      assertThat(rebalance.step(ring, both, limits, room).runs().buckets()).isEqualTo(128);
    }
  }

  private static Limits noLimit(Limits limits) {
    return new Limits(limits.target(), Ring.BUCKETS_MAX);
  }

  /** No backend gives or takes more than it may, and no full bucket moves. */
  private static void checkLimits(Ring ring, Runs runs, Limits limits, long now) {
    int[] taken = new int[Backend.MAX + 1];
    for (int run = 0; run < runs.size(); run++) {
      taken[runs.owner(run)] += runs.count(run);
      for (int i = 0; i < runs.count(run); i++) {
        assertThat(Pools.formers(now, WINDOW).isFull(ring, runs.start(run) + i)).isFalse();
      }
    }
    assertThat(Arrays.stream(taken).max().orElseThrow()).isLessThanOrEqualTo(limits.moves());
    assertThat(Arrays.stream(given(ring, runs)).max().orElseThrow())
        .isLessThanOrEqualTo(limits.moves());
  }

  private static int[] given(Ring ring, Runs runs) {
    int[] given = new int[Backend.MAX + 1];
    for (int run = 0; run < runs.size(); run++) {
      for (int i = 0; i < runs.count(run); i++) {
        given[ring.current(runs.start(run) + i)]++;
      }
    }
    return given;
  }

  private static int rules(Ring ring) {
    int rules = 0;
    int before = -1;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (ring.current(bucket) != before) {
        rules++;
      }
      before = ring.current(bucket);
    }
    return rules;
  }

  private static int within(Ring ring, int id, int from, int to) {
    int within = 0;
    for (int bucket = from; bucket < to; bucket++) {
      within += ring.current(bucket) == id ? 1 : 0;
    }
    return within;
  }

  /** Owners in random places, by random weights. */
  private static char[] scattered(Random random, int buckets) {
    char[] owners = new char[buckets];
    int backends = 1 + random.nextInt(30);
    for (int bucket = 0; bucket < buckets; bucket++) {
      int id = 1 + random.nextInt(backends);
      owners[bucket] = (char) (random.nextBoolean() ? id : 1 + random.nextInt(id));
    }
    return owners;
  }

  private static char[] swapped(Ring ring, Random random, int swaps) {
    char[] owners = Pools.owners(ring);
    for (int i = 0; i < swaps; i++) {
      int a = random.nextInt(owners.length);
      int b = random.nextInt(owners.length);
      char owner = owners[a];
      owners[a] = owners[b];
      owners[b] = owner;
    }
    return owners;
  }

  /** Removes backends without an edge to a remaining one, until none is left. */
  private static boolean hasCycle(boolean[][] edges) {
    boolean isShrinking = true;
    while (isShrinking) {
      isShrinking = false;
      for (int from = 0; from < edges.length; from++) {
        if (edges[from] != null && !leadsOn(edges, from)) {
          edges[from] = null;
          isShrinking = true;
        }
      }
    }
    return Arrays.stream(edges).anyMatch(each -> each != null);
  }

  private static boolean leadsOn(boolean[][] edges, int from) {
    for (int to = 0; to < edges.length; to++) {
      if (edges[from][to] && edges[to] != null) {
        return true;
      }
    }
    return false;
  }
}
