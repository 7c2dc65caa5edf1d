// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

import java.util.List;
import java.util.Optional;

/** A length of 0 in {@code quicServerId}, and a {@code maxSegmentSize} of 0, take it away. */
public record ServiceChange(
    Optional<List<String>> vips,
    Optional<List<Port>> ports,
    Optional<Integer> windowSeconds,
    Optional<MptcpPorts> mptcpPorts,
    Optional<String> assignment,
    Optional<QuicServerId> quicServerId,
    Optional<Integer> maxSegmentSize) {

  /** What a mux does with single packets stays as it is. */
  public ServiceChange(
      Optional<List<String>> vips,
      Optional<List<Port>> ports,
      Optional<Integer> windowSeconds,
      Optional<MptcpPorts> mptcpPorts,
      Optional<String> assignment) {
    this(vips, ports, windowSeconds, mptcpPorts, assignment, Optional.empty(), Optional.empty());
  }

  /** The ports that name backends and the assignment stay as they are. */
  public ServiceChange(
      Optional<List<String>> vips, Optional<List<Port>> ports, Optional<Integer> windowSeconds) {
    this(vips, ports, windowSeconds, Optional.empty(), Optional.empty());
  }
}
