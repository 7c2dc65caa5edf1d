// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.assign;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.assign.Upkeep.Limits;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.ring.Runs;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/**
 * No bucket goes back to the owner before within its window while it can go elsewhere, so that
 * three moves within a window lose no connection (protocol/README.md §3).
 */
class ReturnsTest {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 120;
  private static final Assignment BEAMER = new BeamerAssignment();

  @Test
  void theOwnerBeforeTakesOthersThanItsOwn() throws Exception {
    Ring ring = step(Ring.empty(1, 256, NOW - 1), NOW, 1, 1, 1, 0);
    ring = step(ring, NOW + 10, 0, 1, 1, 1);
    // What 4 took from 1 goes to 2 and 3; 1 takes buckets that they have owned for long.
    Ring next = step(ring, NOW + 20, 1, 1, 1, 0);
    assertThat(returned(ring, next, NOW + 20)).isZero();
    assertThat(next.owned()).startsWith(0, 85, 86, 85);
  }

  @Test
  void aDrainedOwnersBucketsTakeADetourIfNoOtherBackendGives() throws Exception {
    Ring ring = step(Ring.empty(1, 256, NOW - 1), NOW, 1, 1, 0);
    ring = step(ring, NOW + 1000, 0, 1, 1);
    // 3 has what was 1's and is removed; 2 has its share, so only 1 can take buckets.
    Ring next = step(ring, NOW + 1010, 1, 1, 0);
    assertThat(returned(ring, next, NOW + 1010)).isZero();
    assertThat(next.owned()).startsWith(0, 128, 128, 0);
    Runs later = BEAMER.assign(ring, Pools.weights(1, 1, 0), NOW + 1000 + WINDOW, WINDOW);
    assertThat(later.buckets()).as("once the window is over they go straight back").isEqualTo(128);
  }

  @Test
  void withoutAnotherWayABucketReturns() throws Exception {
    Ring ring = step(Ring.empty(1, 256, NOW - 1), NOW, 1, 0, 0);
    ring = step(ring, NOW + 1000, 0, 1, 1);
    Ring next = step(ring, NOW + 1010, 1, 1, 1);
    assertThat(returned(ring, next, NOW + 1010)).isEqualTo(next.owned()[1]).isEqualTo(85);
  }

  @Test
  void ofTwoBackendsNeitherIsBetween() throws Exception {
    Ring ring = step(Ring.empty(1, 256, NOW - 1), NOW, 1, 0);
    ring = step(ring, NOW + 1000, 0, 1);
    assertThat(ring.isReturn(0, 1, NOW + 1010, WINDOW)).isFalse();
    assertThat(ring.previous(0)).isEqualTo(1);
  }

  @Test
  void aBucketWithoutAnOwnerDoesNotReturn() throws Exception {
    Ring ring = step(Ring.empty(1, 256, NOW - 1), NOW, 1, 1, 1);
    ring = step(ring, NOW + 1000, 0, 0, 0);
    for (int bucket = 0; bucket < 256; bucket++) {
      assertThat(ring.isReturn(bucket, ring.previous(bucket), NOW + 1001, WINDOW)).isFalse();
    }
  }

  /**
   * As few buckets return as possible: a backend whose share exceeds all buckets except those which
   * left it within the window gets the difference of these. Shares are as exact as ever.
   */
  @Property(tries = 500)
  void asFewReturnAsCanBe(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    int backends = 2 + random.nextInt(5);
    Ring ring = Ring.empty(1, 256, NOW - 1);
    long now = NOW;
    for (int i = 0; i < 12; i++) {
      int[] weights = new int[Backend.MAX + 1];
      for (int id = 1; id <= backends; id++) {
        weights[id] = random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(5);
      }
      Runs runs = BEAMER.assign(ring, weights, now, WINDOW);
      Ring next = Pools.apply(ring, runs, now);
      int[] targets = BeamerAssignment.targets(ring.owned(), weights, 256);
      assertThat(next.owned()).isEqualTo(targets);
      assertThat(returned(ring, next, now)).isEqualTo(fewestReturns(ring, targets, now));
      ring = next;
      now += random.nextInt(WINDOW / 2);
    }
  }

  /** Of each backend: its share, less what it can get without a return. */
  private static int fewestReturns(Ring ring, int[] targets, long now) {
    int fewest = 0;
    for (int id = 1; id <= 8; id++) {
      int allowed = 0;
      for (int bucket = 0; bucket < ring.buckets(); bucket++) {
        allowed += ring.isReturn(bucket, id, now, WINDOW) ? 0 : 1;
      }
      fewest += Math.max(0, targets[id] - allowed);
    }
    return fewest;
  }

  /**
   * What the fault injection does: five backends change weights, one of them to none, at most three
   * times in the life of a connection. It lost four connections of twelve thousand.
   */
  @Property(tries = 40)
  void threeMovesWithinAWindowLoseNoConnection(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    List<Integer> weights = new ArrayList<>(List.of(0, 50, 100, 150, 200));
    Ring ring = Ring.empty(1, 1024, NOW - 1);
    List<Ring> lately = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      Collections.shuffle(weights, random);
      long now = NOW + i * (WINDOW / 3 + 1);
      ring = step(ring, now, weights.stream().mapToInt(Integer::intValue).toArray());
      lately.add(ring);
      if (lately.size() > 4) {
        lately.remove(0);
      }
      for (int bucket = 0; bucket < ring.buckets(); bucket++) {
        assertThat(lost(lately, bucket)).as("bucket %d after change %d", bucket, i).isEmpty();
      }
    }
  }

  /**
   * The owners of a bucket in these rings whose connections its servers do not find any more: each
   * remembers of whom it was told last, and a packet is chained three times.
   */
  private static List<Integer> lost(List<Ring> rings, int bucket) {
    Map<Integer, Integer> told = new HashMap<>();
    int owner = rings.get(0).current(bucket);
    for (Ring ring : rings) {
      if (ring.current(bucket) != owner) {
        owner = ring.current(bucket);
        told.put(owner, ring.previous(bucket));
      }
    }
    List<Integer> found = new ArrayList<>();
    Integer at = owner;
    for (int hops = 0; hops <= 3 && at != null; hops++) {
      found.add(at);
      at = told.get(at);
    }
    List<Integer> lost = new ArrayList<>();
    rings.forEach(ring -> lost.add(ring.current(bucket)));
    lost.removeAll(found);
    return lost;
  }

  @Test
  void upkeepLeavesWhatWouldReturnWhereItIs() throws Exception {
    Ring ring = step(Ring.empty(1, 256, NOW - 1), NOW, 1, 0, 0);
    ring = step(ring, NOW + 1000, 0, 1, 1);
    int[] weights = Pools.weights(1, 1, 1);
    Limits limits = new Limits(1, 1000, true);
    assertThat(new Rebalance().step(ring, weights, limits, NOW + 1010, WINDOW).runs().buckets())
        .isZero();
    assertThat(new Rebalance().step(ring, weights, limits, NOW + 1000 + WINDOW, WINDOW).left())
        .isZero();
  }

  @Property(tries = 50)
  void defragmentationReturnsNothing(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    char[] owners = new char[256];
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = (char) (1 + random.nextInt(4));
    }
    Ring ring = Pools.ring(owners, NOW);
    Defragmentation defragmentation = new Defragmentation();
    long now = NOW + 1000;
    for (int i = 0; i < 10; i++) {
      ring = i == 0 ? step(ring, now, 3, 2, 1, 2) : ring;
      Limits limits = new Limits(1, 20, true);
      Runs runs = defragmentation.step(ring, new int[0], limits, now + 1, WINDOW).runs();
      Ring next = Pools.apply(ring, runs, now + 1);
      assertThat(returned(ring, next, now + 1)).isZero();
      ring = next;
      now += 5;
    }
  }

  private static int returned(Ring before, Ring after, long now) {
    int returned = 0;
    for (int bucket = 0; bucket < before.buckets(); bucket++) {
      boolean isMoved = after.current(bucket) != before.current(bucket);
      returned += isMoved && before.isReturn(bucket, after.current(bucket), now, WINDOW) ? 1 : 0;
    }
    return returned;
  }

  private static Ring step(Ring ring, long now, int... weights) throws Exception {
    return Pools.apply(ring, BEAMER.assign(ring, Pools.weights(weights), now, WINDOW), now);
  }
}
