// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Who leads, as the leader's own node says; followed by a watch, so that asking is free. */
public final class LeaderWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LeaderWatch.class);

  private final CuratorCache cache;
  private volatile Optional<LeaderNode> leader = Optional.empty();

  public LeaderWatch(CuratorFramework client, Tree tree) {
    cache = CuratorCache.build(client, tree.leader(), CuratorCache.Options.SINGLE_NODE_CACHE);
    cache
        .listenable()
        .addListener(
            CuratorCacheListener.builder()
                .forCreates(this::seen)
                .forChanges((before, after) -> seen(after))
                .forDeletes(gone -> leader = Optional.empty())
                .build());
  }

  public void start() {
    cache.start();
  }

  /** Empty while nobody leads. */
  public Optional<LeaderNode> leader() {
    return leader;
  }

  private void seen(ChildData node) {
    try {
      leader = Optional.of(NodeJson.readLeader(node.getData()));
    } catch (StoreException e) {
      LOG.warn("{}: {}", node.getPath(), e.getMessage());
      leader = Optional.empty();
    }
  }

  @Override
  public void close() {
    cache.close();
  }
}
