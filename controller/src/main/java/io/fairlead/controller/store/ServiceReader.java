// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.common.collect.Lists;
import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.DeltaCodec;
import io.fairlead.controller.ring.RefusedException;
import io.fairlead.controller.ring.Ring;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/**
 * Reads services back from ZooKeeper: the configuration, the newest snapshot and the deltas after
 * it.
 */
final class ServiceReader {
  private static final int CHUNKS_AT_ONCE = 16;

  private final CuratorFramework client;
  private final Tree tree;
  private final Reads reads;

  ServiceReader(CuratorFramework client, Tree tree) {
    this.client = client;
    this.tree = tree;
    this.reads = new Reads(client);
  }

  /** The service, or nothing if it does not exist (what is left of a deleted one has no config). */
  Optional<StoredService> read(String name) throws StoreException {
    return read(name, Optional.empty());
  }

  /** From {@code known} on, if that is on the way: a follower reads each delta once. */
  private Optional<StoredService> read(String name, Optional<StoredService> known)
      throws StoreException {
    try {
      Stat configStat = new Stat();
      ServiceConfig config;
      try {
        config =
            NodeJson.readConfig(
                client.getData().storingStatIn(configStat).forPath(tree.config(name)));
      } catch (KeeperException.NoNodeException e) {
        return Optional.empty();
      }
      Stat latestStat = new Stat();
      long latest =
          number(client.getData().storingStatIn(latestStat).forPath(tree.latestGeneration(name)));
      long snapshot = number(client.getData().forPath(tree.latestSnapshot(name)));
      Optional<StoredService> base =
          known.filter(service -> isOnTheWay(service, config, snapshot, latest));
      long snapshotBytes;
      long deltaBytes;
      Ring ring;
      if (base.isPresent()) {
        snapshotBytes = base.get().snapshotBytes();
        deltaBytes = base.get().deltaBytes();
        ring = base.get().image().ring();
      } else {
        byte[] bytes = chunks(tree.snapshot(name, snapshot));
        snapshotBytes = bytes.length;
        deltaBytes = 0;
        ring = DeltaCodec.decodeSnapshot(bytes, config.id(), snapshot, config.buckets());
      }
      while (ring.generation() < latest) {
        byte[] delta = chunks(tree.delta(name, ring.generation() + 1));
        ring = ring.apply(DeltaCodec.decodeDelta(delta, ring));
        deltaBytes += delta.length;
      }
      return Optional.of(
          new StoredService(
              withUpkeep(new ServiceImage(config, ring)),
              configStat.getVersion(),
              latestStat.getVersion(),
              snapshot,
              snapshotBytes,
              deltaBytes));
    } catch (StoreException | RefusedException | KeeperException.NoNodeException e) {
      throw new StoreException.Damaged(
          "service '%s' is damaged: %s".formatted(name, e.getMessage()), e);
    } catch (Exception e) {
      throw new StoreException("service '%s' cannot be read: %s".formatted(name, e), e);
    }
  }

  /** Generations are never changed, and the ids of services are handed out once. */
  private static boolean isOnTheWay(
      StoredService service, ServiceConfig config, long snapshot, long latest) {
    return service.image().config().id() == config.id()
        && service.snapshot() == snapshot
        && service.image().ring().generation() <= latest;
  }

  /**
   * As {@link #read}, for those who do not write: a commit that comes in between would tear what
   * they read, so they look whether one did, and read again.
   */
  Optional<StoredService> readCommitted(String name, Optional<StoredService> known)
      throws StoreException {
    Optional<Moment> before = moment(name);
    while (true) {
      if (before.isPresent() && known.map(Moment::of).equals(before)) {
        return known;
      }
      Optional<StoredService> read = Optional.empty();
      Optional<StoreException.Damaged> damage = Optional.empty();
      try {
        read = read(name, known);
      } catch (StoreException.Damaged e) {
        damage = Optional.of(e);
      }
      Optional<Moment> after = moment(name);
      if (before.equals(after)) {
        if (damage.isPresent()) {
          throw damage.get();
        }
        return read;
      }
      before = after;
    }
  }

  /** What tells two commits to services of one name apart. */
  private record Moment(int id, int configVersion, int latestVersion, long snapshot) {
    static Moment of(StoredService service) {
      return new Moment(
          service.image().config().id(),
          service.configVersion(),
          service.latestVersion(),
          service.snapshot());
    }
  }

  private Optional<Moment> moment(String name) throws StoreException {
    try {
      Stat config = new Stat();
      byte[] json = client.getData().storingStatIn(config).forPath(tree.config(name));
      Stat latest = client.checkExists().forPath(tree.latestGeneration(name));
      return Optional.of(
          new Moment(
              NodeJson.readConfig(json).id(),
              config.getVersion(),
              latest == null ? -1 : latest.getVersion(),
              number(client.getData().forPath(tree.latestSnapshot(name)))));
    } catch (KeeperException.NoNodeException e) {
      return Optional.empty();
    } catch (StoreException e) {
      throw new StoreException.Damaged(
          "service '%s' is damaged: %s".formatted(name, e.getMessage()), e);
    } catch (Exception e) {
      throw new StoreException("service '%s' cannot be read: %s".formatted(name, e), e);
    }
  }

  private ServiceImage withUpkeep(ServiceImage image) throws Exception {
    try {
      return image.withUpkeep(
          NodeJson.readUpkeep(client.getData().forPath(tree.upkeep(image.config().name()))));
    } catch (KeeperException.NoNodeException e) {
      return image;
    }
  }

  /** The chunks below {@code path}, joined. */
  byte[] chunks(String path) throws Exception {
    List<String> names = new ArrayList<>(client.getChildren().forPath(path));
    Collections.sort(names);
    List<String> paths = Lists.transform(names, name -> path + "/" + name);
    List<byte[]> chunks = new ArrayList<>();
    for (List<String> some : Lists.partition(paths, CHUNKS_AT_ONCE)) {
      for (Optional<byte[]> chunk : reads.data(some)) {
        chunks.add(chunk.orElseThrow(() -> new KeeperException.NoNodeException(path)));
      }
    }
    return DeltaCodec.join(chunks);
  }

  static long number(byte[] decimal) throws StoreException {
    String text = new String(decimal, StandardCharsets.US_ASCII);
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new StoreException("'%s' is no decimal number".formatted(text), e);
    }
  }
}
