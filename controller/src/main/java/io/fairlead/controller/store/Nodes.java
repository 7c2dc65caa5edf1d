// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** Operations on single nodes, of which a {@code multi} is made, and reads. */
final class Nodes {
  private final CuratorFramework client;

  Nodes(CuratorFramework client) {
    this.client = client;
  }

  CuratorOp create(String path) throws Exception {
    return create(path, new byte[0]);
  }

  CuratorOp create(String path, byte[] data) throws Exception {
    return client.transactionOp().create().forPath(path, data);
  }

  /**
   * @param version that the node must have; -1 for any
   */
  CuratorOp set(String path, int version, byte[] data) throws Exception {
    return client.transactionOp().setData().withVersion(version).forPath(path, data);
  }

  CuratorOp delete(String path, int version) throws Exception {
    return client.transactionOp().delete().withVersion(version).forPath(path);
  }

  /** Fails the {@code multi} if the node changes before it. */
  CuratorOp unchanged(String path) throws Exception {
    return unchanged(path, client.checkExists().forPath(path).getVersion());
  }

  CuratorOp unchanged(String path, int version) throws Exception {
    return client.transactionOp().check().withVersion(version).forPath(path);
  }

  Optional<byte[]> data(String path) throws Exception {
    try {
      return Optional.of(client.getData().forPath(path));
    } catch (KeeperException.NoNodeException e) {
      return Optional.empty();
    }
  }

  Optional<Stat> stat(String path) throws Exception {
    return Optional.ofNullable(client.checkExists().forPath(path));
  }

  /** The number in a node, which must exist. */
  long number(String path) throws Exception {
    return number(client.getData().forPath(path));
  }

  static long number(byte[] decimal) throws StoreException {
    String text = new String(decimal, StandardCharsets.US_ASCII);
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new StoreException("'%s' is not a decimal number".formatted(text), e);
    }
  }

  static byte[] decimal(long number) {
    return Long.toString(number).getBytes(StandardCharsets.US_ASCII);
  }
}
