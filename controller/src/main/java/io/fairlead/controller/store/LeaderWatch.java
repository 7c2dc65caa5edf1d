// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leader, as its own node names it; followed by a watch, so that reading it costs no request.
 */
public final class LeaderWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LeaderWatch.class);

  private final Tree tree;
  private final CuratorCache cache;

  public LeaderWatch(CuratorFramework client, Tree tree) {
    this.tree = tree;
    cache = CuratorCache.build(client, tree.leader(), CuratorCache.Options.SINGLE_NODE_CACHE);
  }

  public void start() {
    cache.start();
  }

  /**
   * Empty while there is no leader. Reads the cache each time: it does not notify listeners about a
   * node that was deleted and created again while the connection was lost.
   */
  public Optional<LeaderNode> leader() {
    Optional<ChildData> node = cache.get(tree.leader());
    if (node.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(NodeJson.readLeader(node.get().getData()));
    } catch (StoreException e) {
      LOG.debug("{}: {}", tree.leader(), e.getMessage());
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    cache.close();
  }
}
