// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import java.util.List;

/**
 * Beamer's method: the bucket is the low bits of the hash, and the ring is all that a mux needs.
 */
final class RingSteering implements Steering {
  @Override
  public String word() {
    return "ring";
  }

  @Override
  public List<Violation> check(Spec spec) {
    return List.of();
  }
}
