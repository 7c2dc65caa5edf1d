// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.AssignmentMethod;

/** Assigns a ring's buckets to backends. Pure: the same arguments give the same runs. */
public interface Assignment {
  /**
   * The buckets that have to move.
   *
   * @param weights by backend id, 65,536 of them; a backend of weight 0 loses all of its buckets
   * @param formers which former owners count; full buckets stay where others can move instead
   */
  Runs assign(Ring ring, int[] weights, FormerOwners formers);

  /** The assignment that a service's configuration names. */
  static Assignment of(AssignmentMethod method) {
    return switch (method) {
      case BEAMER -> new BeamerAssignment();
      case MAGLEV -> new MaglevPlacement();
      case CONSISTENT -> new ConsistentPlacement();
      case RENDEZVOUS -> new RendezvousPlacement();
      case MODULO -> new ModuloPlacement();
    };
  }
}
