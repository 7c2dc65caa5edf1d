// SPDX-License-Identifier: Apache-2.0
package rules;

import io.fairlead.controller.core.assign.Assignment;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.words.AssignmentMethod;
import java.util.stream.Collectors;

/**
 * A ring by weights for bench/run p4_load, as the controller assigns it. Arguments: buckets, then
 * the weight of each server from 1 on. Prints the buckets and then each one's owner.
 */
public final class LoadRing {
  private LoadRing() {}

  public static void main(String[] args) {
    int buckets = Integer.parseInt(args[0]);
    int[] weights = new int[Backend.MAX + 1];
    for (int id = 1; id < args.length; id++) {
      weights[id] = Integer.parseInt(args[id]);
    }
    Ring ring = Ring.empty(1, buckets, 0);
    char[] owners =
        Assignment.of(AssignmentMethod.BEAMER)
            .assign(ring, weights, new FormerOwners(0, Pool.WINDOW, History.most(false)))
            .owners(ring);
    System.out.println(buckets);
    System.out.println(
        new String(owners).chars()
            .mapToObj(Integer::toString)
            .collect(Collectors.joining(" ")));
  }
}
