// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

import java.util.List;
import java.util.Optional;

/** {@code version} differs after every commit to the service, of its ring or its settings. */
public record ServiceView(
    int id,
    String name,
    String version,
    List<String> vips,
    List<Port> ports,
    String steering,
    int buckets,
    String hash,
    String affinity,
    String encap,
    int windowSeconds,
    Optional<MptcpPorts> mptcpPorts,
    String assignment,
    long generation,
    int backends,
    Optional<QuicServerId> quicServerId,
    Optional<Integer> maxSegmentSize) {

  /** Of a service with nothing special about its packets. */
  public ServiceView(
      int id,
      String name,
      String version,
      List<String> vips,
      List<Port> ports,
      String steering,
      int buckets,
      String hash,
      String affinity,
      String encap,
      int windowSeconds,
      Optional<MptcpPorts> mptcpPorts,
      String assignment,
      long generation,
      int backends) {
    this(
        id,
        name,
        version,
        vips,
        ports,
        steering,
        buckets,
        hash,
        affinity,
        encap,
        windowSeconds,
        mptcpPorts,
        assignment,
        generation,
        backends,
        Optional.empty(),
        Optional.empty());
  }
}
