// SPDX-License-Identifier: Apache-2.0
package rules;

import io.fairlead.controller.core.assign.Assignment;
import io.fairlead.controller.core.assign.Upkeep;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.AssignmentMethod;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/** A service's servers and its ring, changed by its controller's rules, a window apart. */
final class Pool {
  static final int WINDOW = 240;
  static final int WEIGHT = 100;
  private static final long START = 1_700_000_000;
  private final Random random;
  private final Assignment assignment;
  private final int[] weights = new int[Backend.MAX + 1];
  private Ring ring;
  private long now = START;

  /** Servers 1 to {@code servers}, of one weight. */
  Pool(int servers, int buckets, AssignmentMethod method, int weight, long seed) throws Exception {
    random = new Random(seed);
    assignment = Assignment.of(method);
    Arrays.fill(weights, 1, servers + 1, weight);
    ring = Ring.empty(1, buckets, now);
    assign();
  }

  Ring ring() {
    return ring;
  }

  /** The highest id that was ever used. */
  int highest() {
    return ring.backends().lastKey();
  }

  private int servers() {
    int servers = 0;
    for (int weight : weights) {
      servers += weight > 0 ? 1 : 0;
    }
    return servers;
  }

  /** Adds so many servers under new ids, or the lowest free ones once all were used. */
  void add(int some) throws Exception {
    now += WINDOW;
    for (int left = some, id = Math.min(highest(), Backend.MAX - some); left > 0; ) {
      id++;
      left -= weights[id] == 0 ? 1 : 0;
      weights[id] = WEIGHT;
    }
    assign();
  }

  void remove(int some) throws Exception {
    if (some >= servers()) {
      throw new IllegalArgumentException("to remove %d of %d servers".formatted(some, servers()));
    }
    now += WINDOW;
    for (int left = some; left > 0; left--) {
      weights[any()] = 0;
    }
    assign();
  }

  /** Gives so many servers a weight between half and twice the usual one. */
  void weigh(int some) throws Exception {
    now += WINDOW;
    for (int left = some; left > 0; left--) {
      weights[any()] = WEIGHT / 2 + random.nextInt(2 * WEIGHT - WEIGHT / 2 + 1);
    }
    assign();
  }

  private int any() {
    int id = 0;
    while (weights[id] == 0) {
      id = 1 + random.nextInt(highest());
    }
    return id;
  }

  private void assign() throws Exception {
    apply(assignment.assign(ring, weights, new FormerOwners(now, WINDOW, History.most(false))));
  }

  /** A window later, an iteration; whether the ring is where it leads. */
  boolean step(Upkeep upkeep, Upkeep.Limits limits) throws Exception {
    now += WINDOW;
    Upkeep.Step step = upkeep.step(ring, weights, limits, new FormerOwners(now, WINDOW, History.most(false)));
    apply(step.runs());
    return step.reached();
  }

  private void apply(Runs runs) throws Exception {
    TreeMap<Integer, Backend> owners = new TreeMap<>();
    for (int run = 0; run < runs.size(); run++) {
      int id = runs.owner(run);
      if (id != Backend.NONE && !ring.backends().containsKey(id)) {
        owners.put(id, new Backend(id, new Address(0, 0xffff_0a00_0000L + id), WEIGHT, false));
      }
    }
    ring =
        ring.apply(
            Delta.after(ring, now, List.copyOf(owners.values()), runs)
                .closing(now - WINDOW)
                .releasing(ring.overflow(runs, History.most(false), Set.of(), now - WINDOW)));
  }
}
