// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The node with the ids of services that are free. It changes with what takes or frees one. */
final class ServiceIdNode {
  private static final Logger LOG = LoggerFactory.getLogger(ServiceIdNode.class);

  private final Store store;
  private final Tree tree;
  private final FencedWrite write;

  ServiceIdNode(Store store, Tree tree, FencedWrite write) {
    this.store = store;
    this.tree = tree;
    this.write = write;
  }

  /** What it says in a version of the node. */
  record Read(ServiceIds ids, Version version) {}

  Read read() throws StoreException {
    try {
      Node node = store.read(tree.serviceIds());
      return new Read(NodeJson.readServiceIds(node.data()), node.version());
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("the ids of services cannot be read: " + e, e);
    }
  }

  Operation set(Read before, ServiceIds after) throws Exception {
    return Operation.set(tree.serviceIds(), before.version(), NodeJson.write(after));
  }

  /** Fails where another id was taken or freed since. */
  Operation unchanged(Read before) throws Exception {
    return Operation.unchanged(tree.serviceIds(), before.version());
  }

  /**
   * Frees the id of the deleted service of this name, which cannot be brought back any more; does
   * nothing if there is none.
   */
  Read freeing(Epoch epoch, String name, Read before) throws Exception {
    Optional<Stat> deleted = store.stat(tree.deleted(name));
    if (deleted.isEmpty()) {
      return before;
    }
    long since = deleted.get().created().getEpochSecond();
    ServiceIds after = freeing(name, since, before.ids());
    write.once(
        epoch,
        List.of(Operation.delete(tree.deleted(name), deleted.get().version()), set(before, after)));
    return new Read(after, before.version().next());
  }

  /** The id of one that is damaged is never given again. */
  private ServiceIds freeing(String name, long since, ServiceIds before) throws Exception {
    try {
      int id = NodeJson.readConfig(store.find(tree.deleted(name)).orElseThrow()).id();
      long latest = Decimal.read(store.find(tree.latestGeneration(name)).orElseThrow());
      return before.freeing(id, since, latest);
    } catch (StoreException | NoSuchElementException | NumberFormatException e) {
      LOG.warn("the id of the deleted service '{}' is lost: {}", name, e.getMessage());
      return before;
    }
  }
}
