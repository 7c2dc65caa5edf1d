// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import io.fairlead.controller.core.image.ServiceConfig;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** VIPs with their ports. No two services may share one: a packet belongs to one of them. */
public final class Listeners {
  private Listeners() {}

  /** A VIP and port, or ports that name backends, that both services have. */
  public static Optional<String> shared(ServiceConfig one, ServiceConfig other) {
    for (String vip : one.vips()) {
      if (other.vips().contains(vip)) {
        Optional<String> what = taken(one, other).or(() -> taken(other, one));
        if (what.isPresent()) {
          return Optional.of(vip + " " + what.get());
        }
      }
    }
    return Optional.empty();
  }

  /** Whether no two of these services share a VIP and port. */
  public static boolean areDistinct(Collection<ServiceConfig> services) {
    Map<String, List<ServiceConfig>> seen = new HashMap<>();
    for (ServiceConfig config : services) {
      for (String vip : config.vips()) {
        List<ServiceConfig> others = seen.computeIfAbsent(vip, v -> new ArrayList<>());
        if (others.stream().anyMatch(other -> shared(config, other).isPresent())) {
          return false;
        }
        others.add(config);
      }
    }
    return true;
  }

  /** What {@code one} takes of the ports of {@code other}. */
  private static Optional<String> taken(ServiceConfig one, ServiceConfig other) {
    for (ServiceConfig.Port port : one.ports()) {
      if (other.ports().contains(port) || other.mptcpPorts().stream().anyMatch(r -> r.has(port))) {
        return Optional.of(port.toString());
      }
    }
    return one.mptcpPorts()
        .filter(range -> other.mptcpPorts().stream().anyMatch(range::overlaps))
        .map(range -> "mptcpPorts " + range);
  }
}
