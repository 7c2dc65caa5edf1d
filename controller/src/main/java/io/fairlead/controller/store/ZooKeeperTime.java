// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;

/**
 * ZooKeeper's time: the one that it gives to a node that was just written. All controllers write
 * the same node; the answer has the time of one's own write. Muxes read that time.
 */
public record ZooKeeperTime(CuratorFramework client, Tree tree, String id) {
  /** Unix milliseconds by the clock of the ZooKeeper server that leads. */
  public long write() throws StoreException {
    try {
      return client.setData().forPath(tree.clock(), id.getBytes(StandardCharsets.UTF_8)).getMtime();
    } catch (Exception e) {
      throw new StoreException("ZooKeeper's time is not known: " + e, e);
    }
  }
}
