// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.zookeeper.data.Stat;

/**
 * Rebuilds a cluster in a ZooKeeper that holds no services.
 *
 * <p>Muxes continue with what they serve until the tree has the name of their cluster, which is
 * written last: they never see a partial restore. Until then a node marks the restore as under way;
 * controllers wait while it exists, and it lets an interrupted restore start again.
 */
public final class Restore {
  private final CuratorFramework client;
  private final Tree tree;
  private final ServiceStore store;
  private final FencedWrite write;
  private final Nodes nodes;
  private final Optional<ZooKeeperAccess> access;

  public Restore(
      CuratorFramework client, Tree tree, Optional<ZooKeeperAccess> access, Duration deadline) {
    this.client = client;
    this.tree = tree;
    this.access = access;
    this.store = new ServiceStore(client, tree, deadline);
    this.write = new FencedWrite(client, tree, deadline);
    this.nodes = new Nodes(client);
  }

  /** Creates every service of the cluster. */
  public interface Services {
    /** Returns which ids are free afterwards. */
    ServiceIds create(Epoch epoch) throws StoreException;
  }

  /**
   * Runs the restore.
   *
   * @param cluster the name that the cluster had
   * @param formerEpoch from which epochs continue
   * @throws IllegalArgumentException with the reason, if this ZooKeeper does not allow it
   * @throws StoreException if it could not be finished; it can be run again
   */
  public void run(String cluster, long formerEpoch, Services services) throws StoreException {
    try {
      Roots.create(client, tree, access);
      check();
      Roots.createIfAbsent(client, tree.restoring(), cluster);
      Epoch epoch = raiseEpoch(formerEpoch);
      clear(epoch);
      finish(epoch, cluster, services.create(epoch));
    } catch (StoreException | IllegalArgumentException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("the restore is incomplete; run it again: " + e, e);
    }
  }

  private void check() throws Exception {
    int services = 0;
    for (String name : store.names()) {
      // A deleted service that is kept has none.
      services += client.checkExists().forPath(tree.config(name)) == null ? 0 : 1;
    }
    if (services > 0 && client.checkExists().forPath(tree.restoring()) == null) {
      throw new IllegalArgumentException(
          "--restore is refused: ZooKeeper holds %d services; allowed: a ZooKeeper without services"
              .formatted(services));
    }
    int controllers = client.getChildren().forPath(tree.election()).size();
    if (controllers > 0) {
      throw new IllegalArgumentException(
          "--restore is refused: %d controllers are running; allowed: none, stop them first"
              .formatted(controllers));
    }
  }

  private Epoch raiseEpoch(long former) throws Exception {
    Stat stat = new Stat();
    long present = Nodes.number(client.getData().storingStatIn(stat).forPath(tree.epoch()));
    long number = Math.max(present, former) + 1;
    Stat raised =
        client
            .setData()
            .withVersion(stat.getVersion())
            .forPath(tree.epoch(), Nodes.decimal(number));
    return new Epoch(number, raised.getVersion());
  }

  /** Removes what an interrupted restore has left. */
  private void clear(Epoch epoch) throws Exception {
    for (String name : store.names()) {
      Optional<ServiceReading> left = store.read(name);
      if (left.isPresent()) {
        store.delete(epoch, left.get().state());
      }
      store.removeRest(epoch, name);
    }
    List<CuratorOp> ops = new ArrayList<>();
    ops.add(nodes.set(tree.serviceIds(), -1, NodeJson.write(ServiceIds.NONE)));
    if (nodes.stat(tree.settled()).isPresent()) { // of the generations before the restore
      ops.add(nodes.delete(tree.settled(), -1));
    }
    write.once(epoch, ops);
  }

  /** Restores the cluster's name and ends the restore, in one step. */
  private void finish(Epoch epoch, String cluster, ServiceIds ids) throws Exception {
    write.once(
        epoch,
        List.of(
            nodes.set(tree.serviceIds(), -1, NodeJson.write(ids)),
            nodes.set(tree.cluster(), -1, cluster.getBytes(StandardCharsets.US_ASCII)),
            nodes.delete(tree.restoring(), -1)));
  }
}
