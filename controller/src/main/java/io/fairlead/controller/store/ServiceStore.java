// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.Progress;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.store.FencedWrite.Outcome;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Services in ZooKeeper (protocol/README.md §4): configurations, and generations as numbered bytes.
 * Every write is fenced by the leader's epoch and takes place as a whole or not at all; the moment
 * at which it does is the change of one node: {@code latest_gen} for a generation, {@code config}
 * for the creation, change and deletion of a service, {@code latest_snapshot} for a snapshot.
 *
 * <p>What is too large for one request creates its chunks ahead, one a request. No reader reads
 * them before {@code latest_gen} names their generation; if that never happens, they are orphans,
 * and the next leader or the next attempt removes them.
 *
 * <p>Thread-safe as long as each service has one writer.
 */
public final class ServiceStore {
  private static final Logger LOG = LoggerFactory.getLogger(ServiceStore.class);

  private final Store store;
  private final Tree tree;
  private final FencedWrite write;
  private final Sizes sizes;
  private final ServiceIdNode ids;
  private final Chunks chunks;
  private final ServiceReader reader;
  private final SnapshotStore snapshots;

  public ServiceStore(Store store, Tree tree, Duration deadline) {
    this(store, tree, deadline, Sizes.DEFAULT);
  }

  public ServiceStore(Store store, Tree tree, Duration deadline, Sizes sizes) {
    this(store, tree, new FencedWrite(store, tree, deadline), sizes);
  }

  private ServiceStore(Store store, Tree tree, FencedWrite write, Sizes sizes) {
    this.store = store;
    this.tree = tree;
    this.write = write;
    this.sizes = sizes;
    this.ids = new ServiceIdNode(store, tree, write);
    this.chunks = new Chunks(store);
    this.reader = new ServiceReader(store, tree);
    this.snapshots = new SnapshotStore(store, tree, write, sizes);
  }

  /** The same store, for one write that leaves {@code note} beside it. */
  public ServiceStore with(Note note) {
    return new ServiceStore(store, tree, write.with(note), sizes);
  }

  /** Names of all services, also of those that are only half deleted. */
  public List<String> names() throws StoreException {
    try {
      return store.children(tree.services());
    } catch (Exception e) {
      throw new StoreException("services cannot be listed: " + e, e);
    }
  }

  /** Whether {@code epoch} is the latest, by all that was committed before this call. */
  public boolean isLatest(Epoch epoch) throws StoreException {
    sync("the epoch");
    try {
      return store
          .stat(tree.epoch())
          .filter(at -> at.version().equals(epoch.version()))
          .isPresent();
    } catch (Exception e) {
      throw new StoreException("the epoch cannot be read: " + e, e);
    }
  }

  /** Which ids of services are free. */
  public ServiceIds serviceIds() throws StoreException {
    return ids.read().ids();
  }

  /** The number of the latest epoch. */
  public long epoch() throws StoreException {
    return number(tree.epoch(), "the epoch");
  }

  private void sync(String what) throws StoreException {
    try {
      store.sync();
    } catch (Exception e) {
      throw new StoreException("%s cannot be read: %s".formatted(what, e), e);
    }
  }

  private long number(String path, String what) throws StoreException {
    try {
      return Decimal.read(store.read(path).data());
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("%s cannot be read: %s".formatted(what, e), e);
    }
  }

  /** The name of the cluster, by which muxes know it. */
  public String cluster() throws StoreException {
    try {
      return new String(store.read(tree.cluster()).data(), StandardCharsets.US_ASCII);
    } catch (Exception e) {
      throw new StoreException("the cluster's name cannot be read: " + e, e);
    }
  }

  /** Settings of the whole cluster, as of what was committed before this call. */
  public ClusterSettings settings() throws StoreException {
    sync("the cluster's settings");
    try {
      Optional<byte[]> json = store.find(tree.settings());
      return json.isPresent() ? NodeJson.readSettings(json.get()) : ClusterSettings.NONE;
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("the cluster's settings cannot be read: " + e, e);
    }
  }

  /** Changes the settings of the whole cluster. */
  public void changeSettings(Epoch epoch, ClusterSettings settings) throws StoreException {
    byte[] json = NodeJson.write(settings);
    write.run(
        "change of the cluster's settings",
        epoch,
        () -> List.of(settingsWritten(json)),
        () -> {
          Optional<byte[]> present = store.find(tree.settings());
          return present.filter(other -> Arrays.equals(other, json)).isPresent()
              ? Outcome.WRITTEN
              : Outcome.NOT_WRITTEN;
        });
  }

  private Operation settingsWritten(byte[] json) throws Exception {
    return written(tree.settings(), store.stat(tree.settings()).isPresent(), json);
  }

  /**
   * The service, as of what was committed before this call, or nothing if it does not exist (what
   * is left of a deleted one has no config).
   */
  public Optional<ServiceReading> read(String name) throws StoreException {
    sync("service '%s'".formatted(name));
    return reader.read(name);
  }

  /**
   * The service in one committed state, regardless of how many commits happen meanwhile.
   *
   * @param known what the caller has already; only what came after it is read
   */
  public Optional<ServiceReading> readCommitted(String name, Optional<ServiceState> known)
      throws StoreException {
    return reader.readCommitted(name, known);
  }

  /** As below, without a change of the cluster's settings. */
  public ServiceState create(Epoch epoch, ServiceConfig config, Progress progress, Generation first)
      throws StoreException {
    return create(epoch, config, progress, first, Optional.empty());
  }

  /**
   * Creates a service with its first generation, which has a snapshot, and takes its id. What is
   * too large for one step is written ahead: no reader reads a service without a configuration.
   *
   * @param settings of the whole cluster, if they change with it
   */
  public ServiceState create(
      Epoch epoch,
      ServiceConfig config,
      Progress progress,
      Generation first,
      Optional<ClusterSettings> settings)
      throws StoreException {
    String name = config.name();
    byte[] json = NodeJson.write(config);
    write.run(
        "creation of service '%s'".formatted(name),
        epoch,
        () -> {
          removeRest(epoch, name);
          ServiceIdNode.Read before = ids.read();
          ServiceIds taken = before.ids().taking(config.id());
          List<Operation> ops = new ArrayList<>(frame(name, progress, first.number()));
          if (first.size() + NodeJson.write(taken).length <= sizes.stepMax()) {
            ops.addAll(blobs(name, first));
          } else {
            write.once(epoch, ops);
            ops.clear();
            createAhead(epoch, blobs(name, first));
          }
          ops.add(ids.set(before, taken));
          if (settings.isPresent()) {
            ops.add(settingsWritten(NodeJson.write(settings.get())));
          }
          ops.add(Operation.create(tree.config(name), json));
          return ops;
        },
        // The id is in no other service's config, so that an equal config can only be this one.
        () -> {
          Optional<byte[]> present = store.find(tree.config(name));
          if (present.isEmpty()) {
            return serviceIds().isTaken(config.id()) ? Outcome.OVERTAKEN : Outcome.NOT_WRITTEN;
          }
          return Arrays.equals(present.get(), json) ? Outcome.WRITTEN : Outcome.OVERTAKEN;
        });
    return new ServiceState(
        config, Optional.of(Version.CREATED), progress, Generations.first(first), Optional.empty());
  }

  /** Everything of a new service except its configuration and the bytes of its generation. */
  private List<Operation> frame(String name, Progress progress, long generation) throws Exception {
    List<Operation> ops = new ArrayList<>();
    ops.add(Operation.create(tree.service(name)));
    ops.add(Operation.create(tree.ring(name)));
    ops.add(Operation.create(tree.latestGeneration(name), Decimal.write(generation)));
    ops.add(Operation.create(tree.latestSnapshot(name), Decimal.write(generation)));
    ops.add(Operation.create(tree.generations(name)));
    ops.add(Operation.create(tree.generation(name, generation)));
    ops.addAll(changes(name, Progress.NONE, progress));
    return ops;
  }

  /** What turns the nodes of {@code before} into those of {@code after}. */
  private List<Operation> changes(String name, Progress before, Progress after) throws Exception {
    List<Operation> ops = new ArrayList<>();
    if (!after.upkeep().equals(before.upkeep())) {
      byte[] json = NodeJson.write(after.upkeep().orElseThrow());
      ops.add(written(tree.upkeep(name), before.upkeep().isPresent(), json));
    }
    if (!after.transitions().equals(before.transitions())) {
      byte[] json = NodeJson.write(after.transitions());
      boolean isThere = !before.transitions().equals(Transitions.NONE);
      ops.add(written(tree.transitions(name), isThere, json));
    }
    return ops;
  }

  private Operation written(String path, boolean isThere, byte[] json) throws Exception {
    return isThere ? Operation.set(path, json) : Operation.create(path, json);
  }

  /** Changes the configuration of a service without a new generation. */
  public ServiceState changeConfig(Epoch epoch, ServiceState before, ServiceConfig changed)
      throws StoreException {
    String path = tree.config(changed.name());
    byte[] json = NodeJson.write(changed);
    write.run(
        "change of service '%s'".formatted(changed.name()),
        epoch,
        () -> List.of(Operation.set(path, before.configVersion().orElseThrow(), json)),
        () -> {
          Version named = before.configVersion().orElseThrow();
          Node present = store.read(path);
          if (present.version().equals(named)) {
            return Outcome.NOT_WRITTEN;
          }
          boolean isOurs =
              present.version().equals(named.next()) && Arrays.equals(present.data(), json);
          return isOurs ? Outcome.WRITTEN : Outcome.OVERTAKEN;
        });
    return before.with(changed);
  }

  /**
   * Commits the next generation, configuration and progress if they changed, and {@code
   * latest_gen}. A deleted service exists again by it.
   *
   * @param next one that has a delta and follows the latest of {@code before}
   */
  public ServiceState commit(
      Epoch epoch, ServiceState before, ServiceConfig config, Progress progress, Generation next)
      throws StoreException {
    return commit(epoch, before, config, progress, next, before.arrays());
  }

  /**
   * As above, for a generation that has Othello arrays or settles them.
   *
   * @param arrays what {@code latest_arrays} says from this generation on
   */
  public ServiceState commit(
      Epoch epoch,
      ServiceState before,
      ServiceConfig config,
      Progress progress,
      Generation next,
      Optional<LatestArrays> arrays)
      throws StoreException {
    String name = config.name();
    String path = tree.generation(name, next.number());
    int beside = NodeJson.write(progress.transitions()).length;
    boolean isOneStep = next.size() + beside <= sizes.stepMax();
    AtomicBoolean isRetry = new AtomicBoolean();
    write.run(
        "generation %d of service '%s'".formatted(next.number(), name),
        epoch,
        () -> {
          if (isRetry.getAndSet(true)) {
            snapshots.remove(epoch, before, List.of(next.number()));
          }
          List<Operation> ops = new ArrayList<>();
          if (isOneStep) {
            ops.add(Operation.create(path));
            ops.addAll(blobs(name, next));
          } else {
            write.once(epoch, List.of(Operation.create(path)));
            createAhead(epoch, blobs(name, next));
          }
          if (before.isDeleted()) {
            ops.add(Operation.create(tree.config(name), NodeJson.write(config)));
            ops.add(Operation.delete(tree.deleted(name)));
          } else if (!config.equals(before.config())) {
            ops.add(
                Operation.set(
                    tree.config(name),
                    before.configVersion().orElseThrow(),
                    NodeJson.write(config)));
          }
          ops.addAll(changes(name, before.progress(), progress));
          if (!arrays.equals(before.arrays())) {
            byte[] json = NodeJson.write(arrays.orElseThrow());
            ops.add(written(tree.latestArrays(name), before.arrays().isPresent(), json));
          }
          ops.add(
              Operation.set(
                  tree.latestGeneration(name),
                  before.generations().latestVersion(),
                  Decimal.write(next.number())));
          return ops;
        },
        () -> {
          Optional<byte[]> latest = store.find(tree.latestGeneration(name));
          if (latest.isPresent() && Decimal.read(latest.get()) == next.number() - 1) {
            return Outcome.NOT_WRITTEN;
          }
          boolean isOurs =
              latest.isPresent()
                  && Decimal.read(latest.get()) == next.number()
                  && holds(name, next);
          return isOurs ? Outcome.WRITTEN : Outcome.OVERTAKEN;
        });
    return before.with(next, config, progress, arrays);
  }

  /** Whether ZooKeeper holds the generation with these very bytes. */
  private boolean holds(String name, Generation generation) throws Exception {
    for (Map.Entry<String, byte[]> blob : generation.blobs().entrySet()) {
      String path = tree.blob(name, generation.number(), blob.getKey());
      if (!Arrays.equals(chunks.read(path), blob.getValue())) {
        return false;
      }
    }
    return true;
  }

  /**
   * Writes the next chunk of a snapshot ahead of its {@link #publish}.
   *
   * @return whether there is more to write
   */
  public boolean writeNext(Epoch epoch, ServiceState service, SnapshotWrite snapshot)
      throws StoreException {
    return snapshots.writeNext(epoch, service, snapshot);
  }

  /**
   * Makes a written snapshot the latest one, and deletes generations that no reader needs any more.
   *
   * @param service as it is now, which may be later than the snapshot
   */
  public ServiceState publish(Epoch epoch, ServiceState service, SnapshotWrite snapshot)
      throws StoreException {
    return snapshots.publish(epoch, service, snapshot);
  }

  /** Whether so many bytes of arrays go into the one request of their generation. */
  public boolean fitsOneStep(long bytes) {
    return bytes <= sizes.chunkMax();
  }

  /**
   * Writes the next chunk of arrays that nothing names yet, or that are damaged: the first removes
   * what is there. What is left of them if it fails is removed with old arrays.
   *
   * @return whether there is more to write
   */
  public boolean writeNext(Epoch epoch, ServiceState service, ArraysAhead arrays)
      throws StoreException {
    String path = tree.blob(service.name(), arrays.generation(), arrays.blob());
    try {
      List<Operation> ops = new ArrayList<>();
      if (arrays.chunk() == 0) {
        snapshots.removeBlob(epoch, service, path);
        ops.add(Operation.create(path));
      }
      ops.add(Operation.create(Tree.chunk(path, arrays.chunk()), arrays.take(sizes.chunkMax())));
      write.once(epoch, ops);
      return !arrays.isWritten();
    } catch (Exception e) {
      throw new StoreException("%s was not written: %s".formatted(path, e), e);
    }
  }

  /**
   * Writes how busy a service's backends are, once and without a retry: the next ones follow soon.
   * Fails if the service is deleted, so that nothing is left of it.
   */
  public void write(Epoch epoch, String name, Loads loads) throws StoreException {
    String path = tree.loads(name);
    try {
      write.once(
          epoch,
          List.of(
              Operation.exists(tree.config(name)),
              written(path, store.stat(path).isPresent(), NodeJson.write(loads))));
    } catch (Exception e) {
      throw new StoreException("loads of service '%s' were not written: %s".formatted(name, e), e);
    }
  }

  /** How busy a service's backends are; empty if that was not written since then. */
  public Optional<Loads> readLoads(String name, Instant since) throws StoreException {
    String path = tree.loads(name);
    try {
      Optional<Stat> stat = store.stat(path);
      if (stat.isEmpty() || stat.get().written().toEpochMilli() < since.toEpochMilli()) {
        return Optional.empty();
      }
      Optional<byte[]> json = store.find(path);
      return json.isPresent() ? Optional.of(NodeJson.readLoads(json.get())) : Optional.empty();
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("loads of service '%s' were not read: %s".formatted(name, e), e);
    }
  }

  /** Tells muxes which generations are settled, once and without a retry. */
  public void write(Epoch epoch, Settled settled) throws StoreException {
    String path = tree.settled();
    try {
      write.once(
          epoch, List.of(written(path, store.stat(path).isPresent(), NodeJson.write(settled))));
    } catch (Exception e) {
      throw new StoreException("%s was not written: %s".formatted(path, e), e);
    }
  }

  /**
   * Which generations are settled; empty in a tree in which none was yet, or if the node is
   * malformed: muxes go by what they had.
   */
  public Optional<Settled> readSettled() throws StoreException {
    Optional<byte[]> json;
    try {
      json = store.find(tree.settled());
    } catch (Exception e) {
      throw new StoreException("%s was not read: %s".formatted(tree.settled(), e), e);
    }
    try {
      return json.isPresent() ? Optional.of(NodeJson.readSettled(json.get())) : Optional.empty();
    } catch (StoreException e) {
      LOG.warn("{} is malformed, and is replaced: {}", tree.settled(), e.getMessage());
      return Optional.empty();
    }
  }

  /** Deletes generations that no reader needs and those that were never committed. */
  public void removeOld(Epoch epoch, ServiceState service) throws StoreException {
    snapshots.removeOld(epoch, service);
  }

  /** Generations whose Othello arrays neither the latest nor {@code before} names. */
  public List<Long> unnamedArrays(ServiceState service, Optional<LatestArrays> before)
      throws StoreException {
    return snapshots.unnamed(service, before);
  }

  /** Deletes the Othello arrays of a generation, if it has any; the generation stays. */
  public void removeArrays(Epoch epoch, ServiceState service, long generation)
      throws StoreException {
    snapshots.removeArrays(epoch, service, generation);
  }

  /** The bytes of Othello arrays: the whole first, then the patches in order. */
  public List<byte[]> readArrays(String name, LatestArrays.Source source) throws StoreException {
    return reader.readArrays(name, source);
  }

  /** Deletes the config, upon which muxes stop serving; {@link #removeRest} deletes the rest. */
  public void delete(Epoch epoch, ServiceState service) throws StoreException {
    String path = tree.config(service.name());
    write.run(
        "deletion of service '%s'".formatted(service.name()),
        epoch,
        () ->
            List.of(
                Operation.create(tree.deleted(service.name()), NodeJson.write(service.config())),
                Operation.delete(path, service.configVersion().orElseThrow())),
        () -> {
          Optional<Stat> config = store.stat(path);
          if (config.isEmpty()) {
            return Outcome.WRITTEN;
          }
          return service.configVersion().equals(config.map(Stat::version))
              ? Outcome.NOT_WRITTEN
              : Outcome.OVERTAKEN;
        });
  }

  /** A deleted service as it was, with all that is needed to commit to it again. */
  public Optional<ServiceReading> readDeleted(String name) throws StoreException {
    return reader.readDeleted(name);
  }

  /**
   * A deleted service that is kept.
   *
   * @param at when it was deleted, by ZooKeeper's clock
   */
  public record Deleted(ServiceConfig config, Instant at) {}

  /** The deleted service of this name that is kept, if there is one and no other has its name. */
  public Optional<Deleted> deleted(String name) throws StoreException {
    try {
      Node node = store.read(tree.deleted(name));
      return Optional.of(new Deleted(NodeJson.readConfig(node.data()), node.stat().created()));
    } catch (NodeException.Absent e) {
      return Optional.empty();
    } catch (StoreException e) {
      throw StoreException.Damaged.of(name, e);
    } catch (Exception e) {
      throw new StoreException("deleted service '%s' cannot be read: %s".formatted(name, e), e);
    }
  }

  /** Deletes what is left of a service without a config; does nothing to one that has a config. */
  public void removeRest(Epoch epoch, String name) throws StoreException {
    try {
      // If an earlier attempt to create this very service arrives only now, it changes the ids, and
      // nothing may be deleted.
      ServiceIdNode.Read before = ids.read();
      if (store.stat(tree.config(name)).isEmpty()) {
        Operation check = ids.unchanged(ids.freeing(epoch, name, before));
        new Removal(store, write).run(epoch, List.of(tree.service(name)), check);
      }
    } catch (Exception e) {
      throw new StoreException(
          "the rest of service '%s' was not deleted: %s".formatted(name, e), e);
    }
  }

  private List<Operation> blobs(String name, Generation generation) throws Exception {
    List<Operation> ops = new ArrayList<>();
    for (Map.Entry<String, byte[]> blob : generation.blobs().entrySet()) {
      String path = tree.blob(name, generation.number(), blob.getKey());
      ops.addAll(chunks.create(path, blob.getValue(), sizes.chunkMax()));
    }
    return ops;
  }

  private void createAhead(Epoch epoch, List<Operation> ops) throws Exception {
    for (Operation op : ops) {
      write.once(epoch, List.of(op));
    }
  }
}
