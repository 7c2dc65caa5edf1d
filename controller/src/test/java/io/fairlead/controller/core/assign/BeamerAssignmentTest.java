// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class BeamerAssignmentTest {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;
  private static final Assignment BEAMER = new BeamerAssignment();

  @Test
  void aNewRingGoesOutInContiguousRanges() {
    Runs runs = assign(ring(1024), NOW, 1, 1, 2);
    assertThat(runs).hasToString("[ 0+256:1 256+256:2 512+512:3 ]");
  }

  @Test
  void oneOfFourDrainedGoesToTheOthersAlone() throws Exception {
    Ring ring = step(ring(1024), NOW, 1, 1, 1, 1);
    Runs runs = assign(ring, NOW + 1000, 1, 0, 1, 1);
    assertThat(runs.buckets()).isEqualTo(256);
    for (int run = 0; run < runs.size(); run++) {
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        assertThat(ring.current(bucket)).isEqualTo(2);
      }
    }
  }

  @Test
  void bucketsWithAClosedWindowMoveByNumberRegardlessOfAge() throws Exception {
    Ring ring = step(ring(1024), NOW, 1, 0);
    ring = step(ring, NOW + 1000, 1, 1);
    ring = step(ring, NOW + 2000, 1, 0);
    // 1 owns 0..511 since NOW + 2000 and 512..1023 since NOW.
    assertThat(ring.since(0)).isGreaterThan(ring.since(1023));
    assertThat(assign(ring, NOW + 9000, 1, 1)).hasToString("[ 0+512:2 ]");
    assertThat(assign(ring, NOW + 2001, 1, 1)).hasToString("[ 512+512:2 ]");
  }

  @Test
  void ofBucketsInsideTheirWindowTheOldestGoFirst() throws Exception {
    Ring ring = step(ring(1024), NOW, 1, 0, 1);
    ring = step(ring, NOW + 10, 1, 1, 0);
    ring = step(ring, NOW + 20, 0, 1, 0);
    // 2 owns 512..1023 since NOW + 10 and the others since NOW + 20.
    assertThat(assign(ring, NOW + 30, 0, 1, 0, 3)).hasToString("[ 0+256:4 512+512:4 ]");
  }

  /** Backends join one by one within a window. */
  @Test
  void fullBucketsMoveLast() throws Exception {
    for (int most : new int[] {1, History.most(true), History.most(false)}) {
      Ring ring = step(ring(16_384), NOW, 1);
      int joined = 1;
      int lost = 0;
      while (lost == 0) {
        joined++;
        long now = NOW + 1000 + joined;
        int[] some = new int[joined];
        Arrays.fill(some, 1);
        FormerOwners formers = new FormerOwners(now, WINDOW, most);
        Runs runs = BEAMER.assign(ring, weights(some), formers);
        for (int run = 0; run < runs.size(); run++) {
          for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
            lost += formers.overflows(ring, bucket, runs.owner(run)) ? 1 : 0;
          }
        }
        ring = apply(ring, runs, now);
      }
      assertThat(joined).as("with %d", most).isEqualTo(most == 1 ? 3 : most == 2 ? 7 : 39);
    }
  }

  @Test
  void bucketsInsideTheirWindowGoOnlyWhenNothingElseIsLeft() throws Exception {
    Ring ring = step(ring(1024), NOW, 1, 0, 0);
    ring = step(ring, NOW + 1000, 1, 1, 0);
    // Backend 2's 512 buckets moved at NOW + 1000; 2 must give some of them, 1 none of what it
    // never lost.
    assertThat(inWindow(ring, assign(ring, NOW + 1100, 1, 1, 1), NOW + 1100)).isEqualTo(170);
    assertThat(inWindow(ring, assign(ring, NOW + 1100, 1, 100, 1), NOW + 1100)).isZero();
    assertThat(inWindow(ring, assign(ring, NOW + 1000 + WINDOW, 1, 1, 1), NOW + 1000 + WINDOW))
        .isZero();
  }

  @Test
  void withoutAnyWeightBucketsHaveNoBackend() throws Exception {
    Ring ring = step(ring(256), NOW, 3, 1);
    Ring none = step(ring, NOW + 1, 0, 0);
    assertThat(none.owned()[Backend.NONE]).isEqualTo(256);
    assertThat(none.previous(0)).isEqualTo(ring.current(0));
    Ring again = step(none, NOW + WINDOW + 1, 1, 1);
    assertThat(again.owned()[1]).isEqualTo(128);
    assertThat(again.previous(0)).isEqualTo(Backend.NONE);
  }

  @Test
  void aBucketThatHadNoOwnerKeepsItsPreviousOwnerWithinTheWindow() throws Exception {
    Ring first = step(ring(256), NOW, 1, 0);
    Ring none = step(first, NOW + 1000, 0, 0);
    Ring second = step(none, NOW + 1000 + WINDOW - 1, 0, 1);
    assertThat(second.owned()[2]).isEqualTo(256);
    assertThat(second.previous(7)).isEqualTo(1);
    assertThat(second.since(7)).as("its window goes on").isEqualTo(NOW + 1000);
    assertThat(step(none, NOW + 1001, 1, 0).previous(7))
        .as("back with its owner: no former owner to chain to")
        .isEqualTo(Backend.NONE);
  }

  @Test
  void aChangeOfNothingMovesNothing() throws Exception {
    Ring ring = step(ring(256), NOW, 3, 1, 5, 7);
    assertThat(assign(ring, NOW + 1, 3, 1, 5, 7)).isEqualTo(Runs.EMPTY);
    assertThat(assign(ring, NOW + 1, 30, 10, 50, 70)).isEqualTo(Runs.EMPTY);
  }

  @Test
  void theGreatestRingAndPoolAreAssigned() throws Exception {
    int[] weights = new int[Backend.MAX + 1];
    for (int id = 1; id <= Backend.MAX; id++) {
      weights[id] = 1 + id % 7;
    }
    Ring ring = ring(Ring.BUCKETS_MAX);
    ring = apply(ring, BEAMER.assign(ring, weights, Pools.formers(NOW, WINDOW)), NOW);
    weights[1] = 0;
    weights[77] = 500;
    Runs runs = BEAMER.assign(ring, weights, Pools.formers(NOW + 10, WINDOW));
    assertThat(runs.buckets()).isPositive();
  }

  @Property(tries = 300)
  void balancedWithAsFewMovesAsBalanceNeeds(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    Ring ring = ring(256);
    long now = NOW;
    for (int i = 0; i < 6; i++) {
      int[] weights = randomWeights(random);
      Runs runs = BEAMER.assign(ring, weights, Pools.formers(now, WINDOW));
      assertThat(BEAMER.assign(ring, weights, Pools.formers(now, WINDOW))).isEqualTo(runs);
      assertThat(runs.buckets()).isEqualTo(fewestMoves(ring, weights));
      checkOrder(ring, runs, now);
      Ring next = apply(ring, runs, now);
      checkBalance(next, weights);
      ring = next;
      now += random.nextInt(2 * WINDOW);
    }
  }

  private static int[] randomWeights(Random random) {
    int[] weights = new int[Backend.MAX + 1];
    for (int id = 1; id <= 8; id++) {
      weights[id] =
          random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(random.nextBoolean() ? 3 : 1000);
    }
    return weights;
  }

  /** No backend is a whole bucket away from its share. */
  private static void checkBalance(Ring ring, int[] weights) {
    long total = 0;
    for (int weight : weights) {
      total += weight;
    }
    int[] owned = ring.owned();
    assertThat(owned[Backend.NONE]).isEqualTo(total == 0 ? ring.buckets() : 0);
    for (int id = 1; id <= 8 && total > 0; id++) {
      double ideal = (double) ring.buckets() * weights[id] / total;
      assertThat(Math.abs(owned[id] - ideal)).as("backend %d", id).isLessThan(1);
    }
  }

  /** Tries every way to round the shares of up to 8 backends. */
  private static int fewestMoves(Ring ring, int[] weights) {
    long total = 0;
    for (int weight : weights) {
      total += weight;
    }
    int[] owned = ring.owned();
    if (total == 0) {
      return ring.buckets() - owned[Backend.NONE];
    }
    int fewest = Integer.MAX_VALUE;
    for (int up = 0; up < 256; up++) {
      int sum = 0;
      int taken = 0;
      for (int id = 1; id <= 8; id++) {
        long share = (long) ring.buckets() * weights[id];
        boolean isUp = (up >> (id - 1) & 1) == 1;
        int target = (int) (share / total) + (isUp && share % total != 0 ? 1 : 0);
        sum += target;
        taken += Math.max(0, target - owned[id]);
      }
      fewest = sum == ring.buckets() ? Math.min(fewest, taken) : fewest;
    }
    return fewest;
  }

  /** No owner keeps a bucket with a closed window that should have moved before one that moved. */
  private static void checkOrder(Ring ring, Runs runs, long now) {
    boolean[] isMoving = new boolean[ring.buckets()];
    for (int run = 0; run < runs.size(); run++) {
      for (int i = 0; i < runs.count(run); i++) {
        isMoving[runs.start(run) + i] = true;
      }
    }
    for (int owner = 0; owner <= 8; owner++) {
      long lastGone = -1;
      long firstKept = Long.MAX_VALUE;
      for (int bucket = 0; bucket < ring.buckets(); bucket++) {
        if (ring.current(bucket) == owner) {
          boolean isMoved = ring.isMoved(bucket, now, WINDOW);
          long order = isMoved ? (1L << 40) + ring.since(bucket) : bucket;
          if (isMoving[bucket]) {
            lastGone = Math.max(lastGone, order);
          } else if (!isMoved) {
            firstKept = Math.min(firstKept, order);
          }
        }
      }
      assertThat(lastGone).as("owner %d", owner).isLessThanOrEqualTo(firstKept);
    }
  }

  private static Ring ring(int buckets) {
    return Ring.empty(1, buckets, NOW - 1);
  }

  /** Weights of backends 1, 2, .. */
  private static int[] weights(int... some) {
    int[] weights = new int[Backend.MAX + 1];
    System.arraycopy(some, 0, weights, 1, some.length);
    return weights;
  }

  private static Runs assign(Ring ring, long now, int... some) {
    return BEAMER.assign(ring, weights(some), Pools.formers(now, WINDOW));
  }

  private static Ring step(Ring ring, long now, int... some) throws Exception {
    return apply(ring, assign(ring, now, some), now);
  }

  private static Ring apply(Ring ring, Runs runs, long now) throws Exception {
    TreeMap<Integer, Backend> owners = new TreeMap<>();
    for (int run = 0; run < runs.size(); run++) {
      int id = runs.owner(run);
      if (id != Backend.NONE) {
        owners.put(id, new Backend(id, new Address(0, 0xffff_0a00_0000L + id), false));
      }
    }
    List<Backend> backends = new ArrayList<>(owners.values());
    return ring.apply(
        Delta.after(ring, now, backends, runs)
            .releasing(ring.overflow(runs, History.most(false), Set.of(), 0)));
  }

  private static int inWindow(Ring ring, Runs runs, long now) {
    int inWindow = 0;
    for (int run = 0; run < runs.size(); run++) {
      for (int i = 0; i < runs.count(run); i++) {
        inWindow += ring.isMoved(runs.start(run) + i, now, WINDOW) ? 1 : 0;
      }
    }
    return inWindow;
  }
}
