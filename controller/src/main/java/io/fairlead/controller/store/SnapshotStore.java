// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.common.collect.Lists;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Snapshots of services, and the removal of generations that no reader needs any more. */
final class SnapshotStore {
  private final Store store;
  private final Tree tree;
  private final FencedWrite write;
  private final Sizes sizes;
  private final Chunks chunks;
  private final Removal removal;

  SnapshotStore(Store store, Tree tree, FencedWrite write, Sizes sizes) {
    this.store = store;
    this.tree = tree;
    this.write = write;
    this.sizes = sizes;
    this.chunks = new Chunks(store);
    this.removal = new Removal(store, write);
  }

  /**
   * Writes the next chunk of a snapshot ahead of its {@link #publish}; the first removes what an
   * interrupted attempt has left. A small snapshot has none.
   *
   * @return whether there is more to write
   */
  boolean writeNext(Epoch epoch, ServiceState service, SnapshotWrite snapshot)
      throws StoreException {
    if (isOneStep(snapshot)) {
      return false;
    }
    String name = service.name();
    return step(
        epoch,
        name,
        snapshot,
        () -> {
          List<Operation> ops = new ArrayList<>();
          SnapshotWrite.Chunk chunk = snapshot.take(sizes.chunkMax());
          String path = tree.snapshot(name, snapshot.generation());
          if (chunk.number() == 0) {
            removeRemains(epoch, name, path);
            ops.add(Operation.create(path));
          }
          ops.add(Operation.create(Tree.chunk(path, chunk.number()), chunk.bytes()));
          write.once(epoch, ops);
          return !snapshot.isWritten();
        });
  }

  /**
   * Makes a written snapshot the latest one, and deletes generations that no reader needs any more.
   *
   * @param service as it is now, which may be later than the snapshot
   */
  ServiceState publish(Epoch epoch, ServiceState service, SnapshotWrite snapshot)
      throws StoreException {
    String name = service.name();
    ServiceState published =
        step(
            epoch,
            name,
            snapshot,
            () -> {
              List<Operation> ops = new ArrayList<>();
              if (isOneStep(snapshot)) {
                String path = tree.snapshot(name, snapshot.generation());
                removeRemains(epoch, name, path);
                ops.addAll(chunks.create(path, snapshot.bytes(), sizes.chunkMax()));
              }
              byte[] number = Decimal.write(snapshot.generation());
              ops.add(Operation.set(tree.latestSnapshot(name), number));
              write.once(epoch, ops);
              return service.with(snapshot);
            });
    removeOld(epoch, published);
    return published;
  }

  /** Deletes generations that no reader needs and those that were never committed. */
  void removeOld(Epoch epoch, ServiceState service) throws StoreException {
    String name = service.name();
    Generations generations = service.generations();
    long latest = generations.latest();
    long oldest = Math.min(generations.snapshot(), latest - Generations.KEPT + 1);
    Set<Long> named = service.arrays().map(LatestArrays::named).orElse(new TreeSet<>());
    try {
      List<Long> gone = new ArrayList<>();
      for (String child : store.children(tree.generations(name))) {
        long generation = Long.parseLong(child);
        boolean isOld = generation < oldest && !named.contains(generation);
        if (isOld || generation > latest) {
          gone.add(generation);
        }
      }
      if (!gone.isEmpty()) {
        remove(epoch, service, gone);
      }
    } catch (Exception e) {
      throw new StoreException(
          "old generations of service '%s' were not deleted: %s".formatted(name, e), e);
    }
  }

  /**
   * Generations whose Othello arrays no reader needs: neither the latest nor {@code before}, which
   * readers may just be reading, name them. Rings change seldom and arrays often: removal with old
   * generations alone would let the arrays of hours pile up.
   */
  List<Long> unnamed(ServiceState service, Optional<LatestArrays> before) throws StoreException {
    Set<Long> named = new TreeSet<>();
    before.ifPresent(arrays -> named.addAll(arrays.named()));
    service.arrays().ifPresent(latest -> named.addAll(latest.named()));
    try {
      List<Long> unnamed = new ArrayList<>();
      for (String child : store.children(tree.generations(service.name()))) {
        long generation = Long.parseLong(child);
        if (generation <= service.generations().latest() && !named.contains(generation)) {
          unnamed.add(generation);
        }
      }
      return unnamed;
    } catch (Exception e) {
      throw new StoreException(
          "old arrays of service '%s' were not deleted: %s".formatted(service.name(), e), e);
    }
  }

  /** Deletes the Othello arrays of a generation, if it has any. */
  void removeArrays(Epoch epoch, ServiceState service, long generation) throws StoreException {
    String name = service.name();
    try {
      for (String blob : List.of(Generation.ARRAYS, Generation.ARRAYS_PATCH)) {
        removeBlob(epoch, service, tree.blob(name, generation, blob));
      }
    } catch (Exception e) {
      throw new StoreException(
          "arrays %d of service '%s' were not deleted: %s".formatted(generation, name, e), e);
    }
  }

  /** Deletes bytes beside a generation, if there are any. */
  void removeBlob(Epoch epoch, ServiceState service, String path) throws Exception {
    if (store.stat(path).isPresent()) {
      removal.run(epoch, List.of(path), asNow(tree.config(service.name())));
    }
  }

  /**
   * Deletes generations that are old or were never committed, unless a commit that arrives late
   * makes one the latest.
   */
  void remove(Epoch epoch, ServiceState service, List<Long> generations) throws Exception {
    String name = service.name();
    removal.run(
        epoch,
        Lists.transform(generations, generation -> tree.generation(name, generation)),
        Operation.unchanged(tree.latestGeneration(name), service.generations().latestVersion()));
  }

  /** Fails the write if the node changes before it. */
  private Operation asNow(String path) throws Exception {
    return Operation.unchanged(path, store.read(path).version());
  }

  private interface Step<T> {
    T run() throws Exception;
  }

  private static <T> T step(Epoch epoch, String name, SnapshotWrite snapshot, Step<T> step)
      throws StoreException {
    try {
      return step.run();
    } catch (NodeException.Changed e) {
      throw new StoreException.Fenced(
          "snapshot %d of service '%s'".formatted(snapshot.generation(), name), epoch);
    } catch (Exception e) {
      throw new StoreException(
          "snapshot %d of service '%s' was not written: %s"
              .formatted(snapshot.generation(), name, e),
          e);
    }
  }

  private boolean isOneStep(SnapshotWrite snapshot) {
    return snapshot.bytes().length <= sizes.stepMax();
  }

  /** Of an interrupted attempt: no reader has read it, as long as it is not the latest. */
  private void removeRemains(Epoch epoch, String name, String path) throws Exception {
    if (store.stat(path).isPresent()) {
      removal.run(epoch, List.of(path), asNow(tree.latestSnapshot(name)));
    }
  }
}
