// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.repository;

import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.steering.Steering;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/** A method whose muxes need a table besides the ring, with a new one in every other generation. */
final class TableSteering implements Steering {
  @Override
  public String word() {
    return "table";
  }

  @Override
  public List<Violation> check(Spec spec) {
    return List.of();
  }

  @Override
  public Optional<byte[]> blob(Spec spec, Ring ring) {
    return ring.generation() % 2 == 0
        ? Optional.of(
            "table %d;".formatted(ring.generation()).repeat(20).getBytes(StandardCharsets.US_ASCII))
        : Optional.empty();
  }
}
