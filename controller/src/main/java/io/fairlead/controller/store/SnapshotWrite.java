// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A snapshot of one generation on its way into ZooKeeper, chunk by chunk, while later generations
 * are committed: no reader reads it before {@code latest_snapshot} names it. Made by any thread,
 * since encoding takes up to half a second; written by the service's one writer ({@link
 * SnapshotStore}).
 */
public final class SnapshotWrite {
  private final long generation;
  private final long deltaBytes;
  private final SortedMap<String, byte[]> blobs;

  /** Names of the blobs that are not written yet, the one under way first. */
  private final Deque<String> left;

  private int chunks;

  /** Bytes of the blob that is being written; at 0 nothing of it is. */
  private int written;

  /**
   * Of the latest generation in {@code generations}; nothing is written yet.
   *
   * @param earlier what readers who write need besides, if anything
   */
  public SnapshotWrite(Generations generations, byte[] bytes, Optional<byte[]> earlier) {
    this.generation = generations.latest();
    this.deltaBytes = generations.deltaBytes();
    this.blobs = new TreeMap<>(Map.of(Generation.SNAPSHOT, bytes));
    earlier.ifPresent(more -> blobs.put(Generation.EARLIER, more));
    this.left = new ArrayDeque<>(blobs.keySet());
  }

  /** A part of a blob. */
  record Chunk(String blob, int number, byte[] bytes) {}

  long generation() {
    return generation;
  }

  /** The size of all deltas that it makes superfluous. */
  long deltaBytes() {
    return deltaBytes;
  }

  /** The size of the snapshot alone. */
  long snapshotBytes() {
    return blobs.get(Generation.SNAPSHOT).length;
  }

  long size() {
    return blobs.values().stream().mapToLong(bytes -> bytes.length).sum();
  }

  SortedMap<String, byte[]> blobs() {
    return Collections.unmodifiableSortedMap(blobs);
  }

  /** The next chunk. */
  Chunk take(int most) {
    byte[] bytes = blobs.get(left.element());
    int end = Math.min(written + most, bytes.length);
    Chunk chunk = new Chunk(left.element(), chunks++, Arrays.copyOfRange(bytes, written, end));
    written = end;
    if (end == bytes.length) {
      left.remove();
      chunks = 0;
      written = 0;
    }
    return chunk;
  }

  boolean isWritten() {
    return left.isEmpty();
  }
}
