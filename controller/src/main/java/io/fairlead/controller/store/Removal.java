// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.zookeeper.KeeperException;

/** Deletes subtrees in fenced steps. */
final class Removal {
  private static final int DELETES_AT_ONCE = 500;

  private final CuratorFramework client;
  private final FencedWrite write;

  Removal(CuratorFramework client, FencedWrite write) {
    this.client = client;
    this.write = write;
  }

  /**
   * Deletes {@code path} and everything below it, children first; does nothing if it does not
   * exist.
   *
   * @param check part of every step, so that none takes place once it fails
   */
  void run(Epoch epoch, String path, CuratorOp check) throws Exception {
    List<String> paths = new ArrayList<>();
    collect(path, paths);
    for (int at = 0; at < paths.size(); at += DELETES_AT_ONCE) {
      List<CuratorOp> ops = new ArrayList<>(List.of(check));
      for (String each : paths.subList(at, Math.min(at + DELETES_AT_ONCE, paths.size()))) {
        ops.add(client.transactionOp().delete().forPath(each));
      }
      write.once(epoch, ops);
    }
  }

  private void collect(String path, List<String> paths) throws Exception {
    try {
      for (String child : client.getChildren().forPath(path)) {
        collect(path + "/" + child, paths);
      }
      paths.add(path);
    } catch (KeeperException.NoNodeException e) {
      // Another controller removed it first, or it never existed: there is nothing left to delete.
    }
  }
}
