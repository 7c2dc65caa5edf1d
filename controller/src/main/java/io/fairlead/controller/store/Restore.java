// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Rebuilds a cluster in a ZooKeeper that holds no services.
 *
 * <p>Muxes continue with what they serve until the tree has the name of their cluster, which is
 * written last: they never see a partial restore. Until then a node marks the restore as under way;
 * controllers wait while it exists, and it lets an interrupted restore start again.
 */
public final class Restore {
  private final Store store;
  private final Tree tree;
  private final ServiceStore services;
  private final FencedWrite write;

  public Restore(Store store, Tree tree, Duration deadline) {
    this.store = store;
    this.tree = tree;
    this.services = new ServiceStore(store, tree, deadline);
    this.write = new FencedWrite(store, tree, deadline);
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
  public void run(String cluster, long formerEpoch, Services wanted) throws StoreException {
    try {
      Roots.create(store, tree);
      check();
      Roots.createIfAbsent(store, tree.restoring(), cluster);
      Epoch epoch = raiseEpoch(formerEpoch);
      clear(epoch);
      finish(epoch, cluster, wanted.create(epoch));
    } catch (StoreException | IllegalArgumentException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("the restore is incomplete; run it again: " + e, e);
    }
  }

  private void check() throws Exception {
    int present = 0;
    for (String name : services.names()) {
      // A deleted service that is kept has none.
      present += store.stat(tree.config(name)).isPresent() ? 1 : 0;
    }
    if (present > 0 && store.stat(tree.restoring()).isEmpty()) {
      throw new IllegalArgumentException(
          "--restore is refused: ZooKeeper holds %d services; allowed: a ZooKeeper without services"
              .formatted(present));
    }
    int controllers = store.children(tree.election()).size();
    if (controllers > 0) {
      throw new IllegalArgumentException(
          "--restore is refused: %d controllers are running; allowed: none, stop them first"
              .formatted(controllers));
    }
  }

  private Epoch raiseEpoch(long former) throws Exception {
    Node present = store.read(tree.epoch());
    long number = Math.max(Decimal.read(present.data()), former) + 1;
    store.write(List.of(Operation.set(tree.epoch(), present.version(), Decimal.write(number))));
    return new Epoch(number, present.version().next());
  }

  /** Removes what an interrupted restore has left. */
  private void clear(Epoch epoch) throws Exception {
    for (String name : services.names()) {
      Optional<ServiceReading> left = services.read(name);
      if (left.isPresent()) {
        services.delete(epoch, left.get().state());
      }
      services.removeRest(epoch, name);
    }
    List<Operation> ops = new ArrayList<>();
    ops.add(Operation.set(tree.serviceIds(), NodeJson.write(ServiceIds.NONE)));
    if (store.stat(tree.settled()).isPresent()) { // of the generations before the restore
      ops.add(Operation.delete(tree.settled()));
    }
    write.once(epoch, ops);
  }

  /** Restores the cluster's name and ends the restore, in one step. */
  private void finish(Epoch epoch, String cluster, ServiceIds ids) throws Exception {
    write.once(
        epoch,
        List.of(
            Operation.set(tree.serviceIds(), NodeJson.write(ids)),
            Operation.set(tree.cluster(), cluster.getBytes(StandardCharsets.US_ASCII)),
            Operation.delete(tree.restoring())));
  }
}
