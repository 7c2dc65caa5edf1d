// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.ring.DeltaCodec;
import java.util.Arrays;

/**
 * A snapshot of one generation on its way into ZooKeeper, chunk by chunk, while later generations
 * are committed: no reader looks at it before {@code latest_snapshot} names it. Made by any thread,
 * since encoding takes up to half a second; written by the service's one writer ({@link
 * ServiceStore#writeNext}, {@link ServiceStore#publish}).
 */
public final class SnapshotWrite {
  private final long generation;
  private final long deltaBytes;
  private final byte[] bytes;
  private int chunks;

  private SnapshotWrite(long generation, long deltaBytes, byte[] bytes) {
    this.generation = generation;
    this.deltaBytes = deltaBytes;
    this.bytes = bytes;
  }

  /** Encodes the image; nothing is written yet. */
  public static SnapshotWrite of(StoredService service) {
    return new SnapshotWrite(
        service.image().ring().generation(),
        service.deltaBytes(),
        DeltaCodec.encode(service.image().ring()));
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
