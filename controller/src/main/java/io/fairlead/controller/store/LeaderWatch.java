// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leader, as its own node names it; followed by a watch, so that reading it costs no request.
 */
public final class LeaderWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LeaderWatch.class);

  private final Store store;
  private final Tree tree;
  private volatile Optional<Store.FollowedNode> followed = Optional.empty();

  public LeaderWatch(Store store, Tree tree) {
    this.store = store;
    this.tree = tree;
  }

  public void start() {
    followed = Optional.of(store.follow(tree.leader(), Store.NodeListener.NONE));
  }

  /**
   * Empty while there is no leader. Reads the copy each time: listeners miss a node that was
   * deleted and created again while the connection was lost.
   */
  public Optional<Leader> leader() {
    Optional<Node> node = followed.flatMap(Store.FollowedNode::node);
    if (node.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(NodeJson.readLeader(node.get().data()));
    } catch (StoreException e) {
      LOG.debug("{}: {}", tree.leader(), e.getMessage());
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    followed.ifPresent(Store.FollowedNode::close);
  }
}
