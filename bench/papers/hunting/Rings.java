// SPDX-License-Identifier: Apache-2.0

import io.fairlead.controller.core.assign.Assignment;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.AssignmentMethod;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/**
 * Rings and their changes, as the controller makes them. A connection's two buckets are
 * independent, and its candidates are their owners.
 */
final class Rings {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;
  private static final int WEIGHT = 100;

  private Rings() {}

  /** The first ring of servers 0 to {@code servers - 1}, which are backends 1 and up. */
  static Ring first(AssignmentMethod method, int buckets, int servers) {
    int[] pool = new int[servers];
    for (int server = 0; server < servers; server++) {
      pool[server] = server;
    }
    return apply(Ring.empty(1, buckets, NOW), method, pool, NOW);
  }

  /** The ring after a change of the pool, a window later. */
  static Ring change(Ring ring, AssignmentMethod method, int[] pool) {
    return apply(ring, method, pool, ring.committed() + WINDOW);
  }

  static int owner(Ring ring, int bucket) {
    return ring.current(bucket) - 1;
  }

  static int previous(Ring ring, int bucket) {
    return ring.previous(bucket) - 1;
  }

  private static Ring apply(Ring ring, AssignmentMethod method, int[] pool, long now) {
    int[] weights = new int[Backend.MAX + 1];
    for (int server : pool) {
      weights[server + 1] = WEIGHT;
    }
    Runs runs = Assignment.of(method).assign(ring, weights, new FormerOwners(now, WINDOW, History.most(false)));
    TreeMap<Integer, Backend> owners = new TreeMap<>();
    for (int run = 0; run < runs.size(); run++) {
      int id = runs.owner(run);
      if (id != Backend.NONE && !ring.backends().containsKey(id)) {
        owners.put(id, new Backend(id, new Address(0, 0xffff_0a00_0000L + id), WEIGHT, false));
      }
    }
    List<Backend> backends = new ArrayList<>(owners.values());
    try {
      return ring.apply(
          Delta.after(ring, now, backends, runs)
              .closing(now - WINDOW)
              .releasing(ring.overflow(runs, History.most(false), Set.of(), now - WINDOW)));
    } catch (RefusedException e) {
      throw new IllegalStateException(e);
    }
  }
}
