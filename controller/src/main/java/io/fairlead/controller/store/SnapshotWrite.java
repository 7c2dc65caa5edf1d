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
  private int written;

  /** Of the latest generation in {@code generations}; nothing is written yet. */
  public SnapshotWrite(Generations generations, byte[] bytes) {
    this.generation = generations.latest();
    this.deltaBytes = generations.deltaBytes();
    this.bytes = bytes;
  }

  /** A part of it. */
  record Chunk(int number, byte[] bytes) {}

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

  /** The next chunk. */
  Chunk take(int most) {
    int end = Math.min(written + most, bytes.length);
    Chunk chunk = new Chunk(chunks++, Arrays.copyOfRange(bytes, written, end));
    written = end;
    return chunk;
  }

  boolean isWritten() {
    return written == bytes.length;
  }
}
