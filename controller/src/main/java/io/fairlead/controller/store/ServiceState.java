// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.UpkeepState;
import java.util.Optional;

/**
 * What ZooKeeper holds of a service besides the bytes of its generations, and the versions that the
 * next write has to name.
 *
 * @param configVersion of the config node
 */
public record ServiceState(
    ServiceConfig config,
    int configVersion,
    Optional<UpkeepState> upkeep,
    Generations generations) {
  String name() {
    return config.name();
  }

  /** Differs after every commit, and is the same whichever controller is asked. */
  public String version() {
    return "%d-%d-%d".formatted(config.id(), configVersion, generations.latest());
  }

  ServiceState with(ServiceConfig changed) {
    return new ServiceState(changed, configVersion + 1, upkeep, generations);
  }

  /** After a commit of {@code next}, which may have changed configuration and upkeep as well. */
  ServiceState with(Generation next, ServiceConfig newConfig, Optional<UpkeepState> newUpkeep) {
    int newVersion = newConfig.equals(config) ? configVersion : configVersion + 1;
    return new ServiceState(newConfig, newVersion, newUpkeep, generations.with(next));
  }

  ServiceState with(SnapshotWrite written) {
    return new ServiceState(config, configVersion, upkeep, generations.with(written));
  }
}
