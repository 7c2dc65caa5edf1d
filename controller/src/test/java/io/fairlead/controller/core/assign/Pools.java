// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/** Weights and rings that tests of assignments start with. */
final class Pools {
  private Pools() {}

  /** Weights of backends 1, 2, .. */
  static int[] weights(int... some) {
    int[] weights = new int[Backend.MAX + 1];
    System.arraycopy(some, 0, weights, 1, some.length);
    return weights;
  }

  /** {@code backends} of weight {@code weight} with random ids. */
  static int[] equal(Random random, int backends, int weight) {
    int[] weights = new int[Backend.MAX + 1];
    for (int i = 0; i < backends; ) {
      int id = 1 + random.nextInt(Backend.MAX);
      i += weights[id] == 0 ? 1 : 0;
      weights[id] = weight;
    }
    return weights;
  }

  /** Up to {@code most} backends with random ids, about a third of them draining. */
  static int[] random(Random random, int most) {
    int[] weights = new int[Backend.MAX + 1];
    int range = new int[] {1, 3, 100, 65535}[random.nextInt(4)];
    for (int i = random.nextInt(most + 1); i > 0; i--) {
      weights[1 + random.nextInt(Backend.MAX)] =
          random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(range);
    }
    return weights;
  }

  /** Any backend that has a weight. */
  static int any(Random random, int[] weights) {
    int[] ids = ids(weights);
    return ids[random.nextInt(ids.length)];
  }

  static int[] ids(int[] weights) {
    List<Integer> ids = new ArrayList<>();
    for (int id = 1; id < weights.length; id++) {
      if (weights[id] > 0) {
        ids.add(id);
      }
    }
    return ids.stream().mapToInt(Integer::intValue).toArray();
  }

  /** As of a service without a hold. */
  static FormerOwners formers(long now, int windowSeconds) {
    return new FormerOwners(now, windowSeconds, History.most(false));
  }

  static Ring apply(Ring ring, Runs runs, long now) throws Exception {
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

  /** A ring with these owners, none of whose buckets has ever moved between two backends. */
  static Ring ring(char[] owners, long now) throws Exception {
    Ring empty = Ring.empty(1, owners.length, now - 1);
    return apply(empty, Runs.between(empty, owners), now);
  }

  static char[] owners(Ring ring) {
    char[] owners = new char[ring.buckets()];
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = (char) ring.current(bucket);
    }
    return owners;
  }
}
