// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

import java.util.Optional;

/**
 * How muxes treat a service's packets. {@code encap} is "gue" or "ipip"; {@code maxSegmentSize}
 * bounds the MSS that clients ask for, 536..65535.
 */
public record Wire(
    String encap, Optional<QuicServerId> quicServerId, Optional<Integer> maxSegmentSize) {
  public static final Wire DEFAULT = new Wire("gue", Optional.empty(), Optional.empty());
}
