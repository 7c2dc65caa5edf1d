// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.common.collect.Lists;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * Bytes in nodes below a path, because ZooKeeper refuses requests above 1 MB (jute.maxbuffer):
 * readers join the chunks in the order of their names.
 */
final class Chunks {
  private static final int READ_AT_ONCE = 16;

  private final Store store;

  Chunks(Store store) {
    this.store = store;
  }

  /**
   * The node {@code path} and all chunks below it.
   *
   * @param most bytes of a chunk
   */
  List<Operation> create(String path, byte[] bytes, int most) throws Exception {
    List<Operation> ops = new ArrayList<>();
    ops.add(Operation.create(path));
    int number = 0;
    for (byte[] chunk : split(bytes, most)) {
      ops.add(Operation.create(Tree.chunk(path, number++), chunk));
    }
    return ops;
  }

  /** The chunks below {@code path}, joined. */
  byte[] read(String path) throws Exception {
    List<String> names = new ArrayList<>(store.children(path));
    Collections.sort(names);
    List<String> paths = Lists.transform(names, name -> path + "/" + name);
    List<byte[]> chunks = new ArrayList<>();
    for (List<String> some : Lists.partition(paths, READ_AT_ONCE)) {
      for (Optional<byte[]> chunk : store.read(some)) {
        chunks.add(chunk.orElseThrow(() -> new NodeException.Absent(path)));
      }
    }
    return join(chunks);
  }

  static List<byte[]> split(byte[] bytes, int most) {
    List<byte[]> chunks = new ArrayList<>();
    for (int at = 0; at < bytes.length; at += most) {
      chunks.add(Arrays.copyOfRange(bytes, at, Math.min(at + most, bytes.length)));
    }
    return chunks;
  }

  static byte[] join(List<byte[]> chunks) {
    ByteBuffer joined = ByteBuffer.allocate(chunks.stream().mapToInt(chunk -> chunk.length).sum());
    chunks.forEach(joined::put);
    return joined.array();
  }
}
