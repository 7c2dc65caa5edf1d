// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.image.ServiceImage;

/**
 * A service as ZooKeeper holds it, with what the next write has to know.
 *
 * @param configVersion of the config node
 * @param latestVersion of the latest_gen node
 * @param snapshot the generation of the newest snapshot
 * @param snapshotBytes its size
 * @param deltaBytes the size of all deltas after it
 */
public record StoredService(
    ServiceImage image,
    int configVersion,
    int latestVersion,
    long snapshot,
    long snapshotBytes,
    long deltaBytes) {
  /**
   * When the deltas since the last snapshot outweigh a quarter of it, readers are better off with a
   * new one.
   */
  public boolean isSnapshotDue() {
    return deltaBytes * 4 > snapshotBytes && snapshot < image.ring().generation();
  }

  /** Differs after every commit, and is the same whichever controller asks. */
  public String version() {
    return "%d-%d-%d".formatted(image.config().id(), configVersion, image.ring().generation());
  }

  StoredService withConfig(ServiceImage changed) {
    return new StoredService(
        changed, configVersion + 1, latestVersion, snapshot, snapshotBytes, deltaBytes);
  }

  /** The configuration may have changed in the same step. */
  StoredService withGeneration(ServiceImage next, long bytes) {
    boolean isSame = next.config().equals(image.config());
    return new StoredService(
        next,
        isSame ? configVersion : configVersion + 1,
        latestVersion + 1,
        snapshot,
        snapshotBytes,
        deltaBytes + bytes);
  }

  /** One of this generation or of an earlier one. */
  StoredService withSnapshot(SnapshotWrite written) {
    return new StoredService(
        image,
        configVersion,
        latestVersion,
        written.generation(),
        written.bytes().length,
        deltaBytes - written.deltaBytes());
  }
}
