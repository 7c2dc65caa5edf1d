// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.muxes;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Muxes for tests. */
public final class Muxes {
  private Muxes() {}

  /** With an IPv4 address alone. */
  public static MuxView mux(
      String id, String address, List<String> ports, Map<String, MuxService> services) {
    return new MuxView(id, "0.1.0", Optional.of(address), Optional.empty(), ports, services);
  }

  public static MuxService serving(long generation) {
    return new MuxService(generation, "serving", Optional.empty());
  }
}
