// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Arrays;

/**
 * A snapshot of one generation on its way into ZooKeeper, chunk by chunk, while later generations
 * are committed: no reader reads it before {@code latest_snapshot} names it. Made by any thread,
 * since encoding takes up to half a second; written by the service's one writer ({@link
 * SnapshotStore}).
 */
public final class SnapshotWrite {
  private final long generation;
  private final long deltaBytes;
  private final byte[] bytes;
  private int chunks;

  /** Of the latest generation in {@code generations}; nothing is written yet. */
  public SnapshotWrite(Generations generations, byte[] bytes) {
    this.generation = generations.latest();
    this.deltaBytes = generations.deltaBytes();
    this.bytes = bytes;
  }

  long generation() {
    return generation;
  }

  /** The size of all deltas that it makes superfluous. */
  long deltaBytes() {
    return deltaBytes;
  }

  byte[] bytes() {
    return bytes;
  }

  /** The number of the next chunk. */
  int next() {
    return chunks;
  }

  /** The next chunk. */
  byte[] take(int most) {
    int at = chunks++ * most;
    return Arrays.copyOfRange(bytes, at, Math.min(at + most, bytes.length));
  }

  boolean isWritten(int most) {
    return (long) chunks * most >= bytes.length;
  }
}
