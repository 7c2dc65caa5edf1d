// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import java.util.Optional;

/** New connections that a server could refuse. */
public record Offers(long offered, long taken, long passed) {
  static final Offers NONE = new Offers(0, 0, 0);

  /** Of those that were taken or passed; empty if there are none. */
  Optional<Double> passedShare() {
    return taken + passed == 0 ? Optional.empty() : Optional.of((double) passed / (taken + passed));
  }

  Offers plus(Report.Load load) {
    return new Offers(offered + load.offered(), taken + load.taken(), passed + load.passed());
  }
}
