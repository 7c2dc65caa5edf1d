// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.image.ServiceConfig;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Delta;
import io.fairlead.controller.ring.DeltaCodec;
import io.fairlead.controller.store.FencedWrite.Outcome;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/**
 * Services in ZooKeeper (protocol/README.md §4). Every write is fenced by the leader's epoch and
 * takes place as a whole or not at all; the moment at which it does is the change of one node:
 * {@code latest_gen} for a generation, {@code config} for the making, changing and deleting of a
 * service, {@code latest_snapshot} for a snapshot.
 *
 * <p>ZooKeeper refuses requests above 1 MB (jute.maxbuffer), so what is larger creates its chunks
 * ahead, one a request. Nobody looks at them before {@code latest_gen} names their generation; if
 * that never happens, they are orphans and removed by the next leader or the next attempt.
 *
 * <p>Thread-safe as long as each service has one writer.
 */
public final class ServiceStore {
  /**
   * How much one request may hold.
   *
   * @param deltaMax bytes of a delta or snapshot that is written in one step. With what stands
   *     beside it (paths, the configuration, the note of a write with its answer in base64) it is
   *     below 900 KB.
   * @param chunkMax bytes of a node
   */
  record Sizes(int deltaMax, int chunkMax) {}

  private static final Sizes SIZES = new Sizes(700 * 1024, DeltaCodec.CHUNK_MAX);
  private static final int KEPT_GENERATIONS = 16;
  private static final int DELETES_AT_ONCE = 500;

  private final CuratorFramework client;
  private final Tree tree;
  private final ServiceReader reader;
  private final FencedWrite write;
  private final Sizes sizes;

  public ServiceStore(CuratorFramework client, Tree tree, Duration deadline) {
    this(client, tree, deadline, SIZES);
  }

  ServiceStore(CuratorFramework client, Tree tree, Duration deadline, Sizes sizes) {
    this(
        client,
        tree,
        new ServiceReader(client, tree),
        new FencedWrite(client, tree, deadline),
        sizes);
  }

  private ServiceStore(
      CuratorFramework client, Tree tree, ServiceReader reader, FencedWrite write, Sizes sizes) {
    this.client = client;
    this.tree = tree;
    this.reader = reader;
    this.write = write;
    this.sizes = sizes;
  }

  /** The same store, for one write that leaves {@code note} beside it. */
  public ServiceStore with(Note note) {
    return new ServiceStore(client, tree, reader, write.with(note), sizes);
  }

  /** Names of all services, also of those that are only half deleted. */
  public List<String> names() throws StoreException {
    try {
      return client.getChildren().forPath(tree.services());
    } catch (Exception e) {
      throw new StoreException("services cannot be listed: " + e, e);
    }
  }

  /** Whether {@code epoch} is the latest, by all that was committed before this call. */
  public boolean isLatest(Epoch epoch) throws StoreException {
    try {
      new Reads(client).sync(tree.root());
      Stat stat = client.checkExists().forPath(tree.epoch());
      return stat != null && stat.getVersion() == epoch.version();
    } catch (Exception e) {
      throw new StoreException("the epoch cannot be looked at: " + e, e);
    }
  }

  public Optional<StoredService> read(String name) throws StoreException {
    return reader.read(name);
  }

  /**
   * The service in one committed state, however many commits come in meanwhile; {@code known} if
   * that is what there is.
   */
  public Optional<StoredService> readCommitted(String name, Optional<StoredService> known)
      throws StoreException {
    return reader.readCommitted(name, known);
  }

  /** The id that was given to the latest service; ids are handed out once. */
  public int lastServiceId() throws StoreException {
    try {
      return (int) ServiceReader.number(client.getData().forPath(tree.lastServiceId()));
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("last_service_id cannot be read: " + e, e);
    }
  }

  /** The name of the cluster, by which muxes know it. */
  public String cluster() throws StoreException {
    try {
      return new String(client.getData().forPath(tree.cluster()), StandardCharsets.US_ASCII);
    } catch (Exception e) {
      throw new StoreException("the cluster's name cannot be read: " + e, e);
    }
  }

  /** The number of the latest epoch. */
  public long epoch() throws StoreException {
    try {
      return ServiceReader.number(client.getData().forPath(tree.epoch()));
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("the epoch cannot be read: " + e, e);
    }
  }

  /**
   * Creates a service with the generation of its ring as a snapshot, and takes its id. What is too
   * large for one step is written ahead: nobody looks at a service without a configuration.
   */
  public StoredService create(Epoch epoch, ServiceImage image) throws StoreException {
    ServiceConfig config = image.config();
    String name = config.name();
    byte[] json = NodeJson.write(config);
    byte[] snapshot = DeltaCodec.encode(image.ring());
    boolean isOneStep = snapshot.length <= sizes.deltaMax();
    write.run(
        "service '%s' is created".formatted(name),
        epoch,
        () -> {
          removeRest(epoch, name);
          String snapshotPath = tree.snapshot(name, image.ring().generation());
          List<CuratorOp> ops = new ArrayList<>(frame(image));
          if (isOneStep) {
            ops.addAll(chunks(snapshotPath, snapshot));
          } else {
            write.once(epoch, ops);
            ops.clear();
            createAhead(epoch, snapshotPath, snapshot);
          }
          Stat id = client.checkExists().forPath(tree.lastServiceId());
          ops.add(set(tree.lastServiceId(), id.getVersion(), decimal(config.id())));
          ops.add(create(tree.config(name), json));
          return ops;
        },
        // The id is in no other service's config, so that an equal config can only be this one.
        () -> {
          Optional<byte[]> present = data(tree.config(name));
          if (present.isEmpty()) {
            return lastServiceId() < config.id() ? Outcome.NOT_WRITTEN : Outcome.OVERTAKEN;
          }
          return Arrays.equals(present.get(), json) ? Outcome.WRITTEN : Outcome.OVERTAKEN;
        });
    return new StoredService(image, 0, 0, image.ring().generation(), snapshot.length, 0);
  }

  /** Everything of a new service but its configuration and the chunks of its snapshot. */
  private List<CuratorOp> frame(ServiceImage image) throws Exception {
    String name = image.config().name();
    long generation = image.ring().generation();
    List<CuratorOp> ops = new ArrayList<>();
    ops.add(create(tree.service(name)));
    ops.add(create(tree.ring(name)));
    ops.add(create(tree.latestGeneration(name), decimal(generation)));
    ops.add(create(tree.latestSnapshot(name), decimal(generation)));
    ops.add(create(tree.generations(name)));
    ops.add(create(tree.generation(name, generation)));
    if (image.upkeep().isPresent()) {
      ops.add(create(tree.upkeep(name), NodeJson.write(image.upkeep().get())));
    }
    return ops;
  }

  /** Writes the configuration of {@code changed}. */
  public StoredService changeConfig(Epoch epoch, StoredService before, ServiceImage changed)
      throws StoreException {
    String path = tree.config(changed.config().name());
    byte[] json = NodeJson.write(changed.config());
    write.run(
        "service '%s' is changed".formatted(changed.config().name()),
        epoch,
        () -> List.of(set(path, before.configVersion(), json)),
        () -> {
          Stat stat = new Stat();
          byte[] present = client.getData().storingStatIn(stat).forPath(path);
          if (stat.getVersion() == before.configVersion()) {
            return Outcome.NOT_WRITTEN;
          }
          boolean isOurs =
              stat.getVersion() == before.configVersion() + 1 && Arrays.equals(present, json);
          return isOurs ? Outcome.WRITTEN : Outcome.OVERTAKEN;
        });
    return before.withConfig(changed);
  }

  /**
   * Commits the next generation: its delta, configuration and upkeep if they changed, and {@code
   * latest_gen}.
   *
   * @param next {@code before}'s image after {@code delta}
   */
  public StoredService commit(Epoch epoch, StoredService before, ServiceImage next, Delta delta)
      throws StoreException {
    String name = next.config().name();
    long generation = delta.generation();
    byte[] bytes = DeltaCodec.encode(delta, before.image().ring());
    boolean isOneStep = bytes.length <= sizes.deltaMax();
    AtomicBoolean isRetry = new AtomicBoolean();
    write.run(
        "generation %d of service '%s'".formatted(generation, name),
        epoch,
        () -> {
          if (isRetry.getAndSet(true)) {
            removeGeneration(epoch, before, generation);
          }
          List<CuratorOp> ops = new ArrayList<>();
          if (isOneStep) {
            ops.add(create(tree.generation(name, generation)));
            ops.addAll(chunks(tree.delta(name, generation), bytes));
          } else {
            write.once(epoch, List.of(create(tree.generation(name, generation))));
            createAhead(epoch, tree.delta(name, generation), bytes);
          }
          if (!next.config().equals(before.image().config())) {
            ops.add(set(tree.config(name), before.configVersion(), NodeJson.write(next.config())));
          }
          if (!next.upkeep().equals(before.image().upkeep())) {
            ops.add(upkeep(before.image(), next));
          }
          ops.add(set(tree.latestGeneration(name), before.latestVersion(), decimal(generation)));
          return ops;
        },
        () -> {
          Optional<byte[]> latest = data(tree.latestGeneration(name));
          if (latest.isPresent() && ServiceReader.number(latest.get()) == generation - 1) {
            return Outcome.NOT_WRITTEN;
          }
          boolean isOurs =
              latest.isPresent()
                  && ServiceReader.number(latest.get()) == generation
                  && Arrays.equals(reader.chunks(tree.delta(name, generation)), bytes);
          return isOurs ? Outcome.WRITTEN : Outcome.OVERTAKEN;
        });
    return before.withGeneration(next, bytes.length);
  }

  private CuratorOp upkeep(ServiceImage before, ServiceImage after) throws Exception {
    String path = tree.upkeep(after.config().name());
    byte[] json = NodeJson.write(after.upkeep().orElseThrow());
    return before.upkeep().isPresent() ? set(path, -1, json) : create(path, json);
  }

  /**
   * Writes the next chunk of a snapshot ahead of its {@link #publish}; the first removes what an
   * attempt has left that was cut off. A small one has none.
   *
   * @return whether there is more to write
   */
  public boolean writeNext(Epoch epoch, StoredService service, SnapshotWrite snapshot)
      throws StoreException {
    if (isOneStep(snapshot)) {
      return false;
    }
    String name = service.image().config().name();
    String path = tree.snapshot(name, snapshot.generation());
    return snapshotStep(
        epoch,
        name,
        snapshot,
        () -> {
          List<CuratorOp> ops = new ArrayList<>();
          if (snapshot.next() == 0) {
            removeRemains(epoch, name, path);
            ops.add(create(path));
          }
          String chunk = Tree.chunk(path, snapshot.next());
          ops.add(create(chunk, snapshot.take(sizes.chunkMax())));
          write.once(epoch, ops);
          return !snapshot.isWritten(sizes.chunkMax());
        });
  }

  /**
   * Makes a snapshot that is written the latest one, and deletes generations that no reader needs
   * any more.
   *
   * @param service as it is now, which may be later than the snapshot
   */
  public StoredService publish(Epoch epoch, StoredService service, SnapshotWrite snapshot)
      throws StoreException {
    String name = service.image().config().name();
    StoredService published =
        snapshotStep(
            epoch,
            name,
            snapshot,
            () -> {
              List<CuratorOp> ops = new ArrayList<>();
              if (isOneStep(snapshot)) {
                String path = tree.snapshot(name, snapshot.generation());
                removeRemains(epoch, name, path);
                ops.addAll(chunks(path, snapshot.bytes()));
              }
              ops.add(set(tree.latestSnapshot(name), -1, decimal(snapshot.generation())));
              write.once(epoch, ops);
              return service.withSnapshot(snapshot);
            });
    removeOld(epoch, published);
    return published;
  }

  private interface SnapshotStep<T> {
    T run() throws Exception;
  }

  private static <T> T snapshotStep(
      Epoch epoch, String name, SnapshotWrite snapshot, SnapshotStep<T> step)
      throws StoreException {
    try {
      return step.run();
    } catch (KeeperException.BadVersionException e) {
      throw new StoreException.Fenced(
          "snapshot %d of service '%s' in epoch %d: another controller leads"
              .formatted(snapshot.generation(), name, epoch.number()));
    } catch (Exception e) {
      throw new StoreException(
          "snapshot %d of service '%s' was not written: %s"
              .formatted(snapshot.generation(), name, e),
          e);
    }
  }

  private boolean isOneStep(SnapshotWrite snapshot) {
    return snapshot.bytes().length <= sizes.deltaMax();
  }

  /**
   * Of an attempt that was cut off: no reader has looked at it, as long as it is not the latest.
   */
  private void removeRemains(Epoch epoch, String name, String path) throws Exception {
    Stat latest = client.checkExists().forPath(tree.latestSnapshot(name));
    removeAll(epoch, path, unchanged(tree.latestSnapshot(name), latest.getVersion()));
  }

  /** Deletes generations that no reader needs and those that were never committed. */
  public void removeOld(Epoch epoch, StoredService service) throws StoreException {
    String name = service.image().config().name();
    long latest = service.image().ring().generation();
    long oldest = Math.min(service.snapshot(), latest - KEPT_GENERATIONS + 1);
    try {
      for (String child : client.getChildren().forPath(tree.generations(name))) {
        long generation = Long.parseLong(child);
        if (generation < oldest || generation > latest) {
          removeGeneration(epoch, service, generation);
        }
      }
    } catch (Exception e) {
      throw new StoreException(
          "old generations of service '%s' were not deleted: %s".formatted(name, e), e);
    }
  }

  /** Deletes the config, upon which muxes stop serving, then whatever else the service has. */
  public void delete(Epoch epoch, StoredService service) throws StoreException {
    String name = service.image().config().name();
    write.run(
        "service '%s' is deleted".formatted(name),
        epoch,
        () ->
            List.of(
                client
                    .transactionOp()
                    .delete()
                    .withVersion(service.configVersion())
                    .forPath(tree.config(name))),
        () -> {
          Stat config = client.checkExists().forPath(tree.config(name));
          if (config == null) {
            return Outcome.WRITTEN;
          }
          return config.getVersion() == service.configVersion()
              ? Outcome.NOT_WRITTEN
              : Outcome.OVERTAKEN;
        });
  }

  /** Deletes what is left of a service without a config; does nothing to one that has a config. */
  public void removeRest(Epoch epoch, String name) throws StoreException {
    try {
      // Should an earlier attempt to create this very service arrive only now, it changes the last
      // id: then don't delete.
      Stat id = client.checkExists().forPath(tree.lastServiceId());
      if (client.checkExists().forPath(tree.config(name)) == null) {
        removeAll(epoch, tree.service(name), unchanged(tree.lastServiceId(), id.getVersion()));
      }
    } catch (Exception e) {
      throw new StoreException(
          "the rest of service '%s' was not deleted: %s".formatted(name, e), e);
    }
  }

  private void createAhead(Epoch epoch, String parent, byte[] bytes) throws Exception {
    for (CuratorOp chunk : chunks(parent, bytes)) {
      write.once(epoch, List.of(chunk));
    }
  }

  private List<CuratorOp> chunks(String parent, byte[] bytes) throws Exception {
    List<CuratorOp> ops = new ArrayList<>();
    ops.add(create(parent));
    int number = 0;
    for (byte[] chunk : DeltaCodec.chunks(bytes, sizes.chunkMax())) {
      ops.add(create(Tree.chunk(parent, number++), chunk));
    }
    return ops;
  }

  /**
   * Deletes a generation that is old or was never committed, unless a commit that arrives late
   * makes it the latest.
   */
  private void removeGeneration(Epoch epoch, StoredService service, long generation)
      throws Exception {
    String name = service.image().config().name();
    removeAll(
        epoch,
        tree.generation(name, generation),
        unchanged(tree.latestGeneration(name), service.latestVersion()));
  }

  /** Deletes a subtree, children first, in fenced steps; nothing happens if it does not exist. */
  private void removeAll(Epoch epoch, String path, CuratorOp check) throws Exception {
    List<String> paths = new ArrayList<>();
    collect(path, paths);
    for (int at = 0; at < paths.size(); at += DELETES_AT_ONCE) {
      List<CuratorOp> ops = new ArrayList<>(List.of(check));
      for (String each : paths.subList(at, Math.min(at + DELETES_AT_ONCE, paths.size()))) {
        ops.add(client.transactionOp().delete().forPath(each));
      }
      write.once(epoch, ops);
    }
  }

  private void collect(String path, List<String> paths) throws Exception {
    try {
      for (String child : client.getChildren().forPath(path)) {
        collect(path + "/" + child, paths);
      }
      paths.add(path);
    } catch (KeeperException.NoNodeException e) {
      // Somebody removed it first, or it never was: either way there is nothing left to delete
      // here.
    }
  }

  private Optional<byte[]> data(String path) throws Exception {
    try {
      return Optional.of(client.getData().forPath(path));
    } catch (KeeperException.NoNodeException e) {
      return Optional.empty();
    }
  }

  private CuratorOp create(String path) throws Exception {
    return create(path, new byte[0]);
  }

  private CuratorOp create(String path, byte[] data) throws Exception {
    return client.transactionOp().create().forPath(path, data);
  }

  private CuratorOp set(String path, int version, byte[] data) throws Exception {
    return client.transactionOp().setData().withVersion(version).forPath(path, data);
  }

  private CuratorOp unchanged(String path, int version) throws Exception {
    return client.transactionOp().check().withVersion(version).forPath(path);
  }

  private static byte[] decimal(long number) {
    return Long.toString(number).getBytes(StandardCharsets.US_ASCII);
  }
}
