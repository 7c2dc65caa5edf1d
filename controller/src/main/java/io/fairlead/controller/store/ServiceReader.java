// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.core.image.Progress;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.Transitions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Reads services back from ZooKeeper: the configuration, the newest snapshot and the deltas after
 * it.
 */
final class ServiceReader {
  private final Store store;
  private final Tree tree;
  private final Chunks chunks;

  ServiceReader(Store store, Tree tree) {
    this.store = store;
    this.tree = tree;
    this.chunks = new Chunks(store);
  }

  /** The service, or nothing if it does not exist (what is left of a deleted one has no config). */
  Optional<ServiceReading> read(String name) throws StoreException {
    return read(name, tree.config(name), Optional.empty());
  }

  /** A deleted service, as it was; nothing if it is not kept. */
  Optional<ServiceReading> readDeleted(String name) throws StoreException {
    return read(name, tree.deleted(name), Optional.empty());
  }

  /**
   * From {@code known} on, if it leads to the latest generation: a follower reads each delta once.
   */
  private Optional<ServiceReading> read(
      String name, String configPath, Optional<ServiceState> known) throws StoreException {
    try {
      Node configNode;
      try {
        configNode = store.read(configPath);
      } catch (NodeException.Absent e) {
        return Optional.empty();
      }
      ServiceConfig config = NodeJson.readConfig(configNode.data());
      Node latestNode = store.read(tree.latestGeneration(name));
      long latest = Decimal.read(latestNode.data());
      long snapshot = Decimal.read(store.read(tree.latestSnapshot(name)).data());
      Optional<Generations> base =
          known
              .filter(state -> isOnTheWay(state, config, snapshot, latest))
              .map(ServiceState::generations);
      Optional<byte[]> start = Optional.empty();
      long snapshotBytes;
      long deltaBytes;
      if (base.isPresent()) {
        snapshotBytes = base.get().snapshotBytes();
        deltaBytes = base.get().deltaBytes();
      } else {
        start = Optional.of(chunks.read(tree.snapshot(name, snapshot)));
        snapshotBytes = start.get().length;
        deltaBytes = 0;
      }
      List<byte[]> deltas = new ArrayList<>();
      for (long next = base.map(Generations::latest).orElse(snapshot) + 1; next <= latest; next++) {
        byte[] delta = chunks.read(tree.delta(name, next));
        deltas.add(delta);
        deltaBytes += delta.length;
      }
      Generations generations =
          new Generations(latest, latestNode.version(), snapshot, snapshotBytes, deltaBytes);
      return Optional.of(
          new ServiceReading(
              new ServiceState(
                  config,
                  Optional.of(configNode.version())
                      .filter(version -> configPath.equals(tree.config(name))),
                  progress(name),
                  generations,
                  arrays(name)),
              start,
              deltas));
    } catch (StoreException | NodeException.Absent e) {
      throw StoreException.Damaged.of(name, e);
    } catch (Exception e) {
      throw new StoreException("service '%s' cannot be read: %s".formatted(name, e), e);
    }
  }

  /** Generations are never changed, and the ids of services are handed out once. */
  private static boolean isOnTheWay(
      ServiceState known, ServiceConfig config, long snapshot, long latest) {
    return known.config().id() == config.id()
        && known.generations().snapshot() == snapshot
        && known.generations().latest() <= latest;
  }

  /**
   * As {@link #read}, for readers that do not write: a commit in between would mix two states, so
   * they check whether there was one, and read again.
   */
  Optional<ServiceReading> readCommitted(String name, Optional<ServiceState> known)
      throws StoreException {
    Optional<Moment> before = moment(name);
    while (true) {
      if (before.isPresent() && known.map(Moment::of).equals(before)) {
        return known.map(state -> new ServiceReading(state, Optional.empty(), List.of()));
      }
      Optional<ServiceReading> read = Optional.empty();
      Optional<StoreException.Damaged> damage = Optional.empty();
      try {
        read = read(name, tree.config(name), known);
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

  /** Differs between any two commits to services of one name. */
  private record Moment(
      int id, Optional<Version> configVersion, Optional<Version> latestVersion, long snapshot) {
    static Moment of(ServiceState state) {
      return new Moment(
          state.config().id(),
          state.configVersion(),
          Optional.of(state.generations().latestVersion()),
          state.generations().snapshot());
    }
  }

  private Optional<Moment> moment(String name) throws StoreException {
    try {
      Node config = store.read(tree.config(name));
      return Optional.of(
          new Moment(
              NodeJson.readConfig(config.data()).id(),
              Optional.of(config.version()),
              store.stat(tree.latestGeneration(name)).map(Stat::version),
              Decimal.read(store.read(tree.latestSnapshot(name)).data())));
    } catch (NodeException.Absent e) {
      return Optional.empty();
    } catch (StoreException e) {
      throw StoreException.Damaged.of(name, e);
    } catch (Exception e) {
      throw new StoreException("service '%s' cannot be read: %s".formatted(name, e), e);
    }
  }

  /** The bytes of Othello arrays: the whole first, then the patches in order. */
  List<byte[]> readArrays(String name, LatestArrays.Source source) throws StoreException {
    try {
      List<byte[]> bytes = new ArrayList<>();
      bytes.add(chunks.read(tree.blob(name, source.whole(), Generation.ARRAYS)));
      for (long patch : source.patches()) {
        bytes.add(chunks.read(tree.blob(name, patch, Generation.ARRAYS_PATCH)));
      }
      return bytes;
    } catch (NodeException.Absent e) {
      throw StoreException.Damaged.of(name, e);
    } catch (Exception e) {
      throw new StoreException("arrays of service '%s' cannot be read: %s".formatted(name, e), e);
    }
  }

  private Optional<LatestArrays> arrays(String name) throws Exception {
    Optional<byte[]> json = store.find(tree.latestArrays(name));
    return json.isPresent() ? Optional.of(NodeJson.readLatestArrays(json.get())) : Optional.empty();
  }

  private Progress progress(String name) throws Exception {
    Optional<byte[]> upkeep = store.find(tree.upkeep(name));
    Optional<byte[]> transitions = store.find(tree.transitions(name));
    return new Progress(
        upkeep.isPresent() ? Optional.of(NodeJson.readUpkeep(upkeep.get())) : Optional.empty(),
        transitions.isPresent() ? NodeJson.readTransitions(transitions.get()) : Transitions.NONE);
  }
}
