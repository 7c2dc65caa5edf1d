// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Ring;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.data.Stat;

/**
 * Rebuilds a cluster from a {@link Backup} in a ZooKeeper that holds no services.
 *
 * <p>Muxes go on with what they serve as long as the tree does not bear the name of their cluster,
 * and that is written last: they never see half of a restore. Until then a node says that one is
 * under way, at which controllers wait, and which lets an interrupted restore begin again.
 *
 * <p>Generations go on {@link #AHEAD} above those of the backup. It may be older than what muxes
 * have applied and servers have seen, and a server drops what comes from a lower generation.
 */
public final class Restore {
  /** More commits than anybody makes between two backups; 4,294 restores fit into 32 bits. */
  public static final long AHEAD = 1_000_000;

  private static final long GENERATION_MAX = (1L << 32) - 1;

  private final CuratorFramework client;
  private final Tree tree;
  private final ServiceStore store;
  private final FencedWrite write;
  private final Optional<ZooKeeperAccess> access;

  public Restore(
      CuratorFramework client, Tree tree, Optional<ZooKeeperAccess> access, Duration deadline) {
    this.client = client;
    this.tree = tree;
    this.access = access;
    this.store = new ServiceStore(client, tree, deadline);
    this.write = new FencedWrite(client, tree, deadline);
  }

  /**
   * @param note of what was rebuilt, to be kept beside each service
   * @throws IllegalArgumentException if this ZooKeeper or the backup does not allow it, saying why
   * @throws StoreException if it could not be finished; it can be run again
   */
  public void run(Backup backup, BiFunction<Epoch, ServiceImage, Note> note) throws StoreException {
    try {
      List<ServiceImage> images = new ArrayList<>();
      for (Backup.Service service : backup.services()) {
        images.add(ahead(service.image()));
      }
      Roots.create(client, tree, access);
      check();
      Roots.createIfAbsent(client, tree.restoring(), backup.cluster());
      Epoch epoch = raiseEpoch(backup.epoch());
      clear(epoch);
      for (ServiceImage image : images) {
        store.with(note.apply(epoch, image)).create(epoch, image);
      }
      finish(epoch, backup);
    } catch (StoreException | IllegalArgumentException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("the restore did not end; run it again: " + e, e);
    }
  }

  private static ServiceImage ahead(ServiceImage image) {
    Ring ring = image.ring();
    if (ring.generation() > GENERATION_MAX - AHEAD) {
      throw new IllegalArgumentException(
          "service '%s' is at generation %d; allowed: at most %d, as a restore adds %d"
              .formatted(image.config().name(), ring.generation(), GENERATION_MAX - AHEAD, AHEAD));
    }
    return image.withRing(ring.withGeneration(ring.generation() + AHEAD));
  }

  private void check() throws Exception {
    int services = client.getChildren().forPath(tree.services()).size();
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
    long present = ServiceReader.number(client.getData().storingStatIn(stat).forPath(tree.epoch()));
    long number = Math.max(present, former) + 1;
    Stat raised =
        client.setData().withVersion(stat.getVersion()).forPath(tree.epoch(), text(number));
    return new Epoch(number, raised.getVersion());
  }

  /** What an interrupted restore has left. */
  private void clear(Epoch epoch) throws Exception {
    for (String name : store.names()) {
      Optional<StoredService> left = store.read(name);
      if (left.isPresent()) {
        store.delete(epoch, left.get());
      }
      store.removeRest(epoch, name);
    }
    write.once(
        epoch, List.of(client.transactionOp().setData().forPath(tree.lastServiceId(), text(0))));
  }

  /** In one step the cluster is what it was. */
  private void finish(Epoch epoch, Backup backup) throws Exception {
    byte[] cluster = backup.cluster().getBytes(StandardCharsets.US_ASCII);
    write.once(
        epoch,
        List.of(
            client
                .transactionOp()
                .setData()
                .forPath(tree.lastServiceId(), text(backup.lastServiceId())),
            client.transactionOp().setData().forPath(tree.cluster(), cluster),
            client.transactionOp().delete().forPath(tree.restoring())));
  }

  private static byte[] text(long number) {
    return Long.toString(number).getBytes(StandardCharsets.US_ASCII);
  }
}
