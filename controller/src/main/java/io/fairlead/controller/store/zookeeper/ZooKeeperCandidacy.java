// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.store.Store;
import java.io.IOException;
import java.util.concurrent.Executor;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Election by Curator's latch: the oldest node leads. */
final class ZooKeeperCandidacy implements Store.Candidacy {
  private static final Logger LOG = LoggerFactory.getLogger(ZooKeeperCandidacy.class);

  private final LeaderLatch latch;

  ZooKeeperCandidacy(
      CuratorFramework client,
      String folder,
      String id,
      Executor executor,
      Runnable elected,
      Runnable deposed) {
    latch = new LeaderLatch(client, folder, id);
    latch.addListener(
        new LeaderLatchListener() {
          @Override
          public void isLeader() {
            elected.run();
          }

          @Override
          public void notLeader() {
            deposed.run();
          }
        },
        executor);
    try {
      latch.start();
    } catch (Exception e) {
      throw new IllegalStateException("the client is not started", e);
    }
  }

  @Override
  public boolean isLeader() {
    return latch.hasLeadership();
  }

  @Override
  public void close() {
    if (latch.getState() != LeaderLatch.State.STARTED) {
      return;
    }
    try {
      latch.close();
    } catch (IOException e) {
      LOG.warn("the leader latch did not close: {}", e.toString());
    }
  }
}
