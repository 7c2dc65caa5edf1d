// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

import java.util.List;
import java.util.Optional;

/**
 * A service to create. {@code buckets} is a power of two in 256..8388608; when absent it is the
 * next power of two of 100 x {@code maxBackends} (default 100 backends). {@code hashKey} is 32 hex
 * digits, drawn at random when absent. {@code assignment}, how buckets are shared out, is one of
 * beamer, maglev, consistent, rendezvous, modulo.
 */
public record ServiceSpec(
    String name,
    List<String> vips,
    List<Port> ports,
    Optional<Integer> maxBackends,
    Optional<Integer> buckets,
    String hash,
    Optional<String> hashKey,
    String affinity,
    int windowSeconds,
    Optional<MptcpPorts> mptcpPorts,
    String assignment,
    Wire wire) {

  /** In GUE, with nothing special about its packets. */
  public ServiceSpec(
      String name,
      List<String> vips,
      List<Port> ports,
      Optional<Integer> maxBackends,
      Optional<Integer> buckets,
      String hash,
      Optional<String> hashKey,
      String affinity,
      int windowSeconds,
      Optional<MptcpPorts> mptcpPorts,
      String assignment) {
    this(
        name,
        vips,
        ports,
        maxBackends,
        buckets,
        hash,
        hashKey,
        affinity,
        windowSeconds,
        mptcpPorts,
        assignment,
        Wire.DEFAULT);
  }

  /** Without ports that name backends, its buckets shared out as by Beamer. */
  public ServiceSpec(
      String name,
      List<String> vips,
      List<Port> ports,
      Optional<Integer> maxBackends,
      Optional<Integer> buckets,
      String hash,
      Optional<String> hashKey,
      String affinity,
      int windowSeconds) {
    this(
        name,
        vips,
        ports,
        maxBackends,
        buckets,
        hash,
        hashKey,
        affinity,
        windowSeconds,
        Optional.empty(),
        "beamer");
  }
}
