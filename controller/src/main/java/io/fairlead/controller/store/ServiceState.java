// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.core.image.Progress;
import io.fairlead.controller.core.image.ServiceConfig;
import java.util.Optional;

/**
 * What ZooKeeper holds of a service besides the bytes of its generations, and the versions that the
 * next write has to name.
 *
 * @param configVersion of the config node; empty if the service is deleted
 * @param arrays of a service steered by Othello, once it has any
 */
public record ServiceState(
    ServiceConfig config,
    Optional<Version> configVersion,
    Progress progress,
    Generations generations,
    Optional<LatestArrays> arrays) {
  boolean isDeleted() {
    return configVersion.isEmpty();
  }

  String name() {
    return config.name();
  }

  /** Differs after every commit, and is the same whichever controller is asked. */
  public String version() {
    return "%d-%s-%d"
        .formatted(
            config.id(), configVersion.map(Version::toString).orElse("-1"), generations.latest());
  }

  ServiceState with(ServiceConfig changed) {
    return new ServiceState(
        changed, configVersion.map(Version::next), progress, generations, arrays);
  }

  /** After a commit of {@code next}, which may have changed all of the rest as well. */
  ServiceState with(
      Generation next,
      ServiceConfig newConfig,
      Progress newProgress,
      Optional<LatestArrays> newArrays) {
    Version newVersion =
        configVersion
            .map(version -> newConfig.equals(config) ? version : version.next())
            .orElse(Version.CREATED);
    return new ServiceState(
        newConfig, Optional.of(newVersion), newProgress, generations.with(next), newArrays);
  }

  ServiceState with(SnapshotWrite written) {
    return new ServiceState(config, configVersion, progress, generations.with(written), arrays);
  }
}
