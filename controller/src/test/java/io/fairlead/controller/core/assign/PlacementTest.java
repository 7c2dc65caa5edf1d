// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Ring;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** The guarantees of each placement, and that it equals the textbook's. */
class PlacementTest {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;

  private enum Way {
    MAGLEV(new MaglevPlacement(), PlacementOracle::maglev),
    CONSISTENT(new ConsistentPlacement(), PlacementOracle::consistent),
    RENDEZVOUS(new RendezvousPlacement(), PlacementOracle::rendezvous),
    MODULO(new ModuloPlacement(), PlacementOracle::modulo);

    final Placement placement;
    final BiFunction<Integer, int[], char[]> oracle;

    Way(Placement placement, BiFunction<Integer, int[], char[]> oracle) {
      this.placement = placement;
      this.oracle = oracle;
    }
  }

  @Property(tries = 60)
  void theTextbookPlacesTheSame(@ForAll long seed, @ForAll Way way) {
    Random random = new Random(seed);
    int buckets = 256 << random.nextInt(2);
    int[] weights = Pools.random(random, 12);
    char[] owners = way.placement.owners(buckets, weights);
    assertThat(owners).isEqualTo(way.oracle.apply(buckets, weights));
    assertThat(way.placement.owners(buckets, weights)).isEqualTo(owners);
  }

  @Property(tries = 60)
  void onlyBackendsWithAWeightOwnBuckets(@ForAll long seed, @ForAll Way way) throws Exception {
    Random random = new Random(seed);
    int[] weights = Pools.random(random, 400);
    Ring ring = Ring.empty(1, 1024, NOW);
    Ring next =
        Pools.apply(ring, way.placement.assign(ring, weights, Pools.formers(NOW, WINDOW)), NOW);
    for (int bucket = 0; bucket < next.buckets(); bucket++) {
      int owner = next.current(bucket);
      if (Placement.total(weights) == 0) {
        assertThat(owner).isEqualTo(Backend.NONE);
      } else {
        assertThat(weights[owner]).as("bucket %d of %d", bucket, owner).isPositive();
      }
    }
  }

  /**
   * Consistent and rendezvous hashing: a backend that does not change loses no bucket to another
   * such.
   */
  @Property(tries = 60)
  void onlyTheChangedBackendsBucketsMove(@ForAll long seed) {
    Random random = new Random(seed);
    int[] before = Pools.random(random, 60);
    int[] after = before.clone();
    int changed = 1 + random.nextInt(Backend.MAX);
    if (random.nextBoolean() && Placement.total(before) > 0) {
      changed = Pools.any(random, before);
    }
    after[changed] = random.nextInt(3) == 0 ? 0 : random.nextInt(1000);
    for (Way way : List.of(Way.CONSISTENT, Way.RENDEZVOUS)) {
      int buckets = 4096;
      boolean isRescaled =
          way == Way.CONSISTENT
              && ConsistentPlacement.halvings(buckets, before)
                  != ConsistentPlacement.halvings(buckets, after);
      if (Placement.total(before) == 0 || Placement.total(after) == 0 || isRescaled) {
        continue;
      }
      char[] was = way.placement.owners(buckets, before);
      char[] is = way.placement.owners(buckets, after);
      for (int bucket = 0; bucket < buckets; bucket++) {
        if (was[bucket] != is[bucket]) {
          boolean isMore = after[changed] > before[changed];
          assertThat((int) (isMore ? is : was)[bucket]).as("%s", way).isEqualTo(changed);
        }
      }
    }
  }

  @Test
  void maglevMovesFewBucketsOfThoseWhoStay() {
    int[] weights = Pools.equal(new Random(1), 100, 100);
    char[] before = Way.MAGLEV.placement.owners(65536, weights);
    int gone = Pools.any(new Random(2), weights);
    weights[gone] = 0;
    char[] after = Way.MAGLEV.placement.owners(65536, weights);
    int innocent = 0;
    for (int bucket = 0; bucket < before.length; bucket++) {
      innocent += before[bucket] != gone && before[bucket] != after[bucket] ? 1 : 0;
    }
    assertThat(innocent / 65536.0).isBetween(0.001, 0.05);
  }

  @Test
  void moduloIsTheBucketModuloTheNumberOfBackends() {
    int[] weights = Pools.equal(new Random(3), 37, 250);
    int[] ids = Pools.ids(weights);
    char[] owners = Way.MODULO.placement.owners(1024, weights);
    for (int bucket = 0; bucket < owners.length; bucket++) {
      assertThat((int) owners[bucket]).isEqualTo(ids[bucket % 37]);
    }
  }

  /** Turns end with each share rounded, for the same number of rounds. */
  @Property(tries = 100)
  void turnsFollowTheWeights(@ForAll long seed) {
    Random random = new Random(seed);
    int[] weights = Pools.random(random, 200);
    if (Placement.total(weights) == 0) {
      return;
    }
    for (Way way : List.of(Way.MAGLEV, Way.MODULO)) {
      int[] owned = owned(way.placement.owners(4096, weights));
      double heaviest = Arrays.stream(weights).max().orElseThrow();
      // The rounds that have begun: as many as the backend with most turns for its weight asks for.
      double least = 0;
      double most = Double.POSITIVE_INFINITY;
      for (int id : Pools.ids(weights)) {
        least = Math.max(least, Math.floor((owned[id] - 0.5) * heaviest / weights[id]));
        most = Math.min(most, Math.floor((owned[id] + 0.5) * heaviest / weights[id]));
      }
      assertThat(least).as("%s", way).isLessThanOrEqualTo(most);
    }
  }

  @Test
  void sharesFollowTheWeights() {
    int buckets = 1 << 20;
    int[] weights = new int[Backend.MAX + 1];
    for (int id = 1; id <= 64; id++) {
      weights[id] = id <= 32 ? 300 : 100;
    }
    for (Way way : Way.values()) {
      int[] owned = owned(way.placement.owners(buckets, weights));
      // Of n points or throws shares scatter by 1/sqrt(n); 5 of these deviations never come by
      // chance.
      double allowed =
          switch (way) {
            case MAGLEV, MODULO -> 1.0 / (buckets / 128);
            case CONSISTENT -> 5 / Math.sqrt(100);
            case RENDEZVOUS -> 5 / Math.sqrt(buckets / 128.0);
          };
      for (int id = 1; id <= 64; id++) {
        double share = owned[id] * 12800.0 / buckets / weights[id];
        assertThat(share).as("%s, backend %d", way, id).isBetween(1 - allowed, 1 + allowed);
      }
    }
  }

  @Test
  void moreBackendsThanBuckets() {
    int[] weights = new int[Backend.MAX + 1];
    Arrays.fill(weights, 1, weights.length, 65535);
    for (Way way : Way.values()) {
      char[] owners = way.placement.owners(256, weights);
      assertThat(owned(owners)[Backend.NONE]).as("%s", way).isZero();
    }
  }

  private static int[] owned(char[] owners) {
    int[] owned = new int[Backend.MAX + 1];
    for (char owner : owners) {
      owned[owner]++;
    }
    return owned;
  }
}
