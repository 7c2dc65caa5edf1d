// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.words.Affinity;
import io.fairlead.controller.core.words.Hash;
import java.util.List;
import java.util.Optional;

/**
 * What an agent has to know of a service to count its connections by bucket (protocol/README.md
 * §11).
 *
 * @param twoBuckets whether a connection is in the buckets of both halves of its hash
 * @param hunt when the server refuses new connections, with steering hunt
 * @param backends that the server is
 */
public record ServedService(
    String name,
    int id,
    List<String> vips,
    List<ServiceConfig.Port> ports,
    int buckets,
    Hash hash,
    String hashKey,
    Affinity affinity,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<ServiceConfig.MptcpPorts> mptcpPorts,
    int windowSeconds,
    int holdSeconds,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Connections> connections,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean twoBuckets,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<ServiceConfig.Hunt> hunt,
    List<ServedBackend> backends) {
  /**
   * Which connections the controller wants to know one by one.
   *
   * @param ageSeconds that they have at least
   */
  public record Connections(int ageSeconds) {}

  public record ServedBackend(int id, String address) {}

  static ServedService of(ServiceConfig config, List<ServedBackend> backends) {
    return new ServedService(
        config.name(),
        config.id(),
        config.vips(),
        config.ports(),
        config.buckets(),
        config.hash(),
        config.hashKey(),
        config.affinity(),
        config.mptcpPorts(),
        config.windowSeconds(),
        config.holdSeconds(),
        config.othello().map(othello -> new Connections(othello.reportAgeSeconds())),
        config.hasTwoBuckets(),
        config.hunt(),
        backends);
  }
}
