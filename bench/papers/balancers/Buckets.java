// SPDX-License-Identifier: Apache-2.0
package balancers;

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

/**
 * Who owns which bucket, by the controller's own assignment, and who owned it before. All servers
 * weigh the same.
 */
final class Buckets {
  private static final int WINDOW = 240;
  private final Assignment assignment;
  private final List<byte[]> generations = new ArrayList<>(); // the newest is the last
  private Ring ring;
  private long now = 1_700_000_000;

  Buckets(AssignmentMethod method, int buckets, Servers servers) {
    assignment = Assignment.of(method);
    ring = Ring.empty(1, buckets, now);
    change(servers);
  }

  void change(Servers servers) {
    int[] weights = new int[Backend.MAX + 1];
    for (int server : servers.pool()) {
      weights[server + 1] = 1;
    }
    now += 6;
    Runs runs = assignment.assign(ring, weights, new FormerOwners(now, WINDOW, History.most(false)));
    List<Backend> added = new ArrayList<>();
    for (int server : servers.pool()) {
      if (!ring.backends().containsKey(server + 1)) {
        added.add(new Backend(server + 1, new Address(0, 0xffff_0a00_0001L + server), 1, false));
      }
    }
    try {
      ring =
          ring.apply(
              Delta.after(ring, now, added, runs)
                  .closing(now - WINDOW)
                  .releasing(ring.overflow(runs, History.most(false), Set.of(), now - WINDOW)));
    } catch (RefusedException e) {
      throw new IllegalStateException(e);
    }
    byte[] owners = new byte[ring.buckets()];
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = (byte) (ring.current(bucket) - 1);
    }
    generations.add(owners);
  }

  int count() {
    return ring.buckets();
  }

  int owner(int bucket) {
    return generations.get(generations.size() - 1)[bucket];
  }

  /**
   * How often packets of this bucket are chained until they are at this server: from the owner to
   * the one before, which remembers from whom it had the bucket, and so on; -1 if it never owned
   * the bucket.
   */
  int chained(int bucket, int server) {
    int hops = 0;
    int last = owner(bucket);
    for (int i = generations.size() - 1; i >= 0; i--) {
      int owner = generations.get(i)[bucket];
      hops += owner == last ? 0 : 1;
      if (owner == server) {
        return hops;
      }
      last = owner;
    }
    return -1;
  }

  /** To how many servers the bucket was before its owner. */
  int moves(int bucket) {
    int moves = 0;
    for (int i = generations.size() - 1; i > 0; i--) {
      moves += generations.get(i)[bucket] == generations.get(i - 1)[bucket] ? 0 : 1;
    }
    return moves;
  }
}
