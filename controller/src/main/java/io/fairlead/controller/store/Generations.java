// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/**
 * Which generations ZooKeeper holds of a service.
 *
 * @param latest the number in the latest_gen node
 * @param latestVersion of that node
 * @param snapshot the generation of the newest snapshot
 * @param snapshotBytes its size
 * @param deltaBytes the size of all deltas after it
 */
public record Generations(
    long latest, Version latestVersion, long snapshot, long snapshotBytes, long deltaBytes) {
  /** The latest ones, which readers may still be reading. */
  static final int KEPT = 16;

  private static final int SMALL = 64 << 10;

  /** Those of a new service, which starts with a snapshot. */
  static Generations first(Generation first) {
    return new Generations(
        first.number(), Version.CREATED, first.number(), first.blob(Generation.SNAPSHOT).length, 0);
  }

  Generations with(Generation next) {
    return new Generations(
        next.number(),
        latestVersion.next(),
        snapshot,
        snapshotBytes,
        deltaBytes + next.blob(Generation.DELTA).length);
  }

  /** With a snapshot of the latest generation or an earlier one. */
  Generations with(SnapshotWrite written) {
    return new Generations(
        latest,
        latestVersion,
        written.generation(),
        written.bytes().length,
        deltaBytes - written.deltaBytes());
  }

  /**
   * A new snapshot pays off for readers once the deltas since the last one exceed a quarter of its
   * size, and are more than a few small ones.
   */
  public boolean isSnapshotDue() {
    return deltaBytes * 4 > snapshotBytes && (latest - snapshot >= KEPT || deltaBytes > SMALL);
  }
}
