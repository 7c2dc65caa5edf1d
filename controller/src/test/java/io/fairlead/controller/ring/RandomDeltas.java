// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/** Arbitrary changes of a ring, which every reader must accept. */
public final class RandomDeltas {
  private static final int WINDOW = 240;

  private RandomDeltas() {}

  /** Adds and removes backends and moves random ranges, within the rules. */
  public static Delta next(Ring ring, Random random) {
    SortedMap<Integer, Backend> changed = new TreeMap<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      int id = 1 + random.nextInt(20);
      Backend known = ring.backends().get(id);
      boolean isLive = known != null && !known.removed();
      Address address =
          isLive ? known.address() : new Address(0, 0xffff_0a01_0000L | random.nextInt(65536));
      changed.put(id, randomBackend(id, address, isLive, random));
    }
    List<Integer> live = new ArrayList<>(List.of(Backend.NONE));
    ring.backends().values().stream()
        .filter(backend -> !backend.removed() && !changed.containsKey(backend.id()))
        .forEach(backend -> live.add(backend.id()));
    changed.values().stream()
        .filter(backend -> !backend.removed())
        .forEach(backend -> live.add(backend.id()));
    char[] next = new char[ring.buckets()];
    int owner = 0;
    for (int bucket = 0; bucket < next.length; bucket++) {
      if (random.nextInt(16) == 0) {
        owner = live.get(random.nextInt(live.size()));
      }
      boolean isStale = !live.contains(ring.current(bucket));
      next[bucket] = (char) (isStale || random.nextInt(3) == 0 ? owner : ring.current(bucket));
    }
    long committed = ring.committed() + random.nextInt(300);
    return new Delta(
        ring.service(),
        ring.generation() + 1,
        ring.buckets(),
        committed,
        List.copyOf(changed.values()),
        Runs.between(ring, next, committed, WINDOW));
  }

  private static Backend randomBackend(int id, Address address, boolean isLive, Random random) {
    boolean isRemoved = isLive && random.nextBoolean();
    return new Backend(id, address, isRemoved ? 0 : random.nextInt(65536), isRemoved);
  }
}
