// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/** Arbitrary changes of a ring, which every reader must accept. */
public final class RandomDeltas {
  private RandomDeltas() {}

  /**
   * Adds, removes, buries and returns backends, moves random ranges, closes and releases former
   * owners, within the rules.
   */
  public static Delta next(Ring ring, Random random) {
    SortedMap<Integer, Backend> changed = new TreeMap<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      int id = 1 + random.nextInt(20);
      Backend known = ring.backends().get(id);
      boolean isSame = known != null && (!known.removed() || random.nextBoolean());
      Address address =
          isSame ? known.address() : new Address(0, 0xffff_0a01_0000L | random.nextInt(65536));
      changed.put(id, randomBackend(id, address, isSame && !known.removed(), random));
    }
    SortedMap<Integer, Backend> all = new TreeMap<>(ring.backends());
    all.putAll(changed);
    List<Integer> live = new ArrayList<>(List.of(Backend.NONE));
    Set<Integer> dead = new TreeSet<>();
    all.values().stream().filter(each -> !each.removed()).forEach(each -> live.add(each.id()));
    all.values().stream().filter(Backend::dead).forEach(each -> dead.add(each.id()));
    char[] next = new char[ring.buckets()];
    int owner = 0;
    for (int bucket = 0; bucket < next.length; bucket++) {
      if (random.nextInt(16) == 0) {
        owner = live.get(random.nextInt(live.size()));
      }
      boolean isStale = !live.contains(ring.current(bucket));
      next[bucket] = (char) (isStale || random.nextInt(3) == 0 ? owner : ring.current(bucket));
    }
    Runs moves = Runs.between(ring, next);
    long committed = ring.committed() + random.nextInt(300);
    long closed = random.nextInt(4) == 0 ? committed - random.nextInt(1000) : 0;
    Runs overflow = ring.overflow(moves, History.most(false), dead, closed);
    return Delta.after(ring, committed, List.copyOf(changed.values()), moves)
        .closing(closed)
        .releasing(overflow.size() > 0 ? overflow : releases(ring, random));
  }

  private static Runs releases(Ring ring, Random random) {
    Runs.Builder releases = new Runs.Builder();
    for (int bucket = 0; random.nextBoolean() && bucket < ring.buckets(); ) {
      int start = bucket + random.nextInt(40);
      bucket = start + 1 + random.nextInt(30);
      if (bucket <= ring.buckets()) {
        releases.add(start, bucket - start, random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(20));
      }
    }
    return releases.build();
  }

  private static Backend randomBackend(int id, Address address, boolean isLive, Random random) {
    boolean isRemoved = isLive && random.nextBoolean();
    return isRemoved && random.nextBoolean()
        ? Backend.dead(id, address)
        : new Backend(id, address, isRemoved ? 0 : random.nextInt(65536), isRemoved);
  }
}
