// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.common.collect.Lists;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.zookeeper.KeeperException;

/**
 * Bytes in nodes below a path, because ZooKeeper refuses requests above 1 MB (jute.maxbuffer):
 * readers join the chunks in the order of their names.
 */
final class Chunks {
  private static final int READ_AT_ONCE = 16;

  private final CuratorFramework client;
  private final Nodes nodes;
  private final Reads reads;

  Chunks(CuratorFramework client) {
    this.client = client;
    this.nodes = new Nodes(client);
    this.reads = new Reads(client);
  }

  /**
   * The node {@code path} and all chunks below it.
   *
   * @param most bytes of a chunk
   */
  List<CuratorOp> create(String path, byte[] bytes, int most) throws Exception {
    List<CuratorOp> ops = new ArrayList<>();
    ops.add(nodes.create(path));
    int number = 0;
    for (byte[] chunk : split(bytes, most)) {
      ops.add(nodes.create(Tree.chunk(path, number++), chunk));
    }
    return ops;
  }

  /** The chunks below {@code path}, joined. */
  byte[] read(String path) throws Exception {
    List<String> names = new ArrayList<>(client.getChildren().forPath(path));
    Collections.sort(names);
    List<String> paths = Lists.transform(names, name -> path + "/" + name);
    List<byte[]> chunks = new ArrayList<>();
    for (List<String> some : Lists.partition(paths, READ_AT_ONCE)) {
      for (Optional<byte[]> chunk : reads.data(some)) {
        chunks.add(chunk.orElseThrow(() -> new KeeperException.NoNodeException(path)));
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
