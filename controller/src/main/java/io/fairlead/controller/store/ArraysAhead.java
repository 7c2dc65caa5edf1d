// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Arrays;

/**
 * Othello arrays, whole or a patch, on their way into ZooKeeper, chunk by chunk, while later
 * generations are committed: beside a committed generation that no reader connects with arrays
 * before {@code latest_arrays} names it. Written by the service's one writer ({@link
 * ServiceStore}).
 */
public final class ArraysAhead {
  private final long generation;
  private final String blob;
  private final byte[] bytes;
  private int chunks;
  private int written;

  /**
   * @param generation whose such blob, if any, is replaced
   * @param blob {@link Generation#ARRAYS} or {@link Generation#ARRAYS_PATCH}
   * @param bytes under that generation; at least one
   */
  public ArraysAhead(long generation, String blob, byte[] bytes) {
    this.generation = generation;
    this.blob = blob;
    this.bytes = bytes;
  }

  long generation() {
    return generation;
  }

  String blob() {
    return blob;
  }

  /** The number of the chunk that {@link #take} returns next. */
  int chunk() {
    return chunks;
  }

  byte[] take(int most) {
    byte[] chunk = Arrays.copyOfRange(bytes, written, Math.min(written + most, bytes.length));
    written += chunk.length;
    chunks++;
    return chunk;
  }

  boolean isWritten() {
    return written == bytes.length;
  }
}
