// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The node with the ids of services that are free. It changes with what takes or frees one. */
final class ServiceIdNode {
  private static final Logger LOG = LoggerFactory.getLogger(ServiceIdNode.class);

  private final CuratorFramework client;
  private final Tree tree;
  private final Nodes nodes;
  private final FencedWrite write;

  ServiceIdNode(CuratorFramework client, Tree tree, Nodes nodes, FencedWrite write) {
    this.client = client;
    this.tree = tree;
    this.nodes = nodes;
    this.write = write;
  }

  /** What it says in a version of the node. */
  record Read(ServiceIds ids, int version) {}

  Read read() throws StoreException {
    try {
      Stat stat = new Stat();
      byte[] json = client.getData().storingStatIn(stat).forPath(tree.serviceIds());
      return new Read(NodeJson.readServiceIds(json), stat.getVersion());
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("the ids of services cannot be read: " + e, e);
    }
  }

  CuratorOp set(Read before, ServiceIds after) throws Exception {
    return nodes.set(tree.serviceIds(), before.version(), NodeJson.write(after));
  }

  /** Fails where another id was taken or freed since. */
  CuratorOp unchanged(Read before) throws Exception {
    return nodes.unchanged(tree.serviceIds(), before.version());
  }

  /**
   * Frees the id of the deleted service of this name, which cannot be brought back any more; does
   * nothing if there is none.
   */
  Read freeing(Epoch epoch, String name, Read before) throws Exception {
    Optional<Stat> deleted = nodes.stat(tree.deleted(name));
    if (deleted.isEmpty()) {
      return before;
    }
    long since = TimeUnit.MILLISECONDS.toSeconds(deleted.get().getCtime());
    ServiceIds after = freeing(name, since, before.ids());
    write.once(
        epoch,
        List.of(nodes.delete(tree.deleted(name), deleted.get().getVersion()), set(before, after)));
    return new Read(after, before.version() + 1);
  }

  /** The id of one that is damaged is never given again. */
  private ServiceIds freeing(String name, long since, ServiceIds before) throws Exception {
    try {
      int id = NodeJson.readConfig(nodes.data(tree.deleted(name)).orElseThrow()).id();
      long latest = Nodes.number(nodes.data(tree.latestGeneration(name)).orElseThrow());
      return before.freeing(id, since, latest);
    } catch (StoreException | NoSuchElementException | NumberFormatException e) {
      LOG.warn("the id of the deleted service '{}' is lost: {}", name, e.getMessage());
      return before;
    }
  }
}
