// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.repository;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.store.ArraysWrite;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Generation;
import io.fairlead.controller.store.Note;
import io.fairlead.controller.store.ServiceReading;
import io.fairlead.controller.store.ServiceState;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.SnapshotWrite;
import io.fairlead.controller.store.StoreException;
import java.util.Optional;

/**
 * Services as images, kept in a {@link ServiceStore} as bytes: each ring as a snapshot and deltas,
 * and beside some generations Othello arrays, which are bytes here too.
 *
 * <p>Thread-safe as long as each service has one writer.
 */
public final class ServiceRepository {
  private final ServiceStore store;

  public ServiceRepository(ServiceStore store) {
    this.store = store;
  }

  /** The same repository, for one write that leaves {@code note} beside it. */
  public ServiceRepository with(Note note) {
    return new ServiceRepository(store.with(note));
  }

  /** The store below, for operations that need no image. */
  public ServiceStore store() {
    return store;
  }

  /** The service, or nothing if it does not exist. */
  public Optional<StoredService> read(String name) throws StoreException {
    Optional<ServiceReading> read = store.read(name);
    return read.isPresent() ? Optional.of(decode(read.get(), Optional.empty())) : Optional.empty();
  }

  /** A deleted service as it was; {@link #commit} makes it exist again. */
  public Optional<StoredService> readDeleted(String name) throws StoreException {
    Optional<ServiceReading> read = store.readDeleted(name);
    return read.isPresent() ? Optional.of(decode(read.get(), Optional.empty())) : Optional.empty();
  }

  /**
   * The service in one committed state, regardless of how many commits happen meanwhile; {@code
   * known} itself if nothing has changed.
   */
  public Optional<StoredService> readCommitted(String name, Optional<StoredService> known)
      throws StoreException {
    Optional<ServiceReading> read = store.readCommitted(name, known.map(StoredService::state));
    if (read.isEmpty()) {
      return Optional.empty();
    }
    return read.map(ServiceReading::state).equals(known.map(StoredService::state))
        ? known
        : Optional.of(decode(read.get(), known));
  }

  private static StoredService decode(ServiceReading read, Optional<StoredService> known)
      throws StoreException {
    ServiceState state = read.state();
    ServiceConfig config = state.config();
    try {
      Optional<Ring> before = known.map(service -> service.image().ring());
      Ring ring =
          read.snapshot().isPresent()
              ? snapshot(read, read.snapshot().get())
              : before.orElseThrow();
      if (read.snapshot().isPresent() && before.isPresent()) {
        ring = ring.remembering(before.get());
      }
      for (byte[] delta : read.deltas()) {
        ring = ring.apply(DeltaCodec.decodeDelta(delta, ring));
      }
      return new StoredService(new ServiceImage(config, ring).with(state.progress()), state);
    } catch (RefusedException e) {
      throw StoreException.Damaged.of(config.name(), e);
    }
  }

  private static Ring snapshot(ServiceReading read, byte[] bytes) throws RefusedException {
    ServiceConfig config = read.state().config();
    return DeltaCodec.decodeSnapshot(
        bytes, config.id(), read.state().generations().snapshot(), config.buckets());
  }

  /** As below, without a change of the cluster's settings. */
  public StoredService create(Epoch epoch, ServiceImage image) throws StoreException {
    return create(epoch, image, Optional.empty());
  }

  /**
   * Creates the service with its ring's generation as a snapshot, and takes its id.
   *
   * @param settings of the whole cluster, if they change with it
   */
  public StoredService create(Epoch epoch, ServiceImage image, Optional<ClusterSettings> settings)
      throws StoreException {
    Generation first =
        Generation.of(
            image.ring().generation(), Generation.SNAPSHOT, DeltaCodec.encode(image.ring()));
    return new StoredService(
        image, store.create(epoch, image.config(), image.progress(), first, settings));
  }

  /** Writes the configuration of {@code changed}, which has the generation of {@code before}. */
  public StoredService changeConfig(Epoch epoch, StoredService before, ServiceImage changed)
      throws StoreException {
    return new StoredService(changed, store.changeConfig(epoch, before.state(), changed.config()));
  }

  /**
   * Commits the next generation, with its configuration and progress if they changed.
   *
   * @param next {@code before}'s image after {@code delta}
   */
  public StoredService commit(Epoch epoch, StoredService before, ServiceImage next, Delta delta)
      throws StoreException {
    return commit(epoch, before, next, delta, Optional.empty());
  }

  /** As above, for a generation that has Othello arrays or settles them. */
  public StoredService commit(
      Epoch epoch,
      StoredService before,
      ServiceImage next,
      Delta delta,
      Optional<ArraysWrite> arrays)
      throws StoreException {
    Generation ring =
        Generation.of(
            next.ring().generation(),
            Generation.DELTA,
            DeltaCodec.encode(delta, before.image().ring()));
    ServiceState state =
        store.commit(
            epoch,
            before.state(),
            next.config(),
            next.progress(),
            arrays.map(write -> write.of(ring)).orElse(ring),
            arrays.map(ArraysWrite::latest).or(before.state()::arrays));
    return new StoredService(next, state);
  }

  /** A snapshot of the service's latest generation, encoded and not yet written. */
  public static SnapshotWrite snapshot(StoredService service) {
    Ring ring = service.image().ring();
    return new SnapshotWrite(service.state().generations(), DeltaCodec.encode(ring));
  }

  /**
   * Writes the next chunk of a snapshot ahead of its {@link #publish}.
   *
   * @return whether there is more to write
   */
  public boolean writeNext(Epoch epoch, StoredService service, SnapshotWrite snapshot)
      throws StoreException {
    return store.writeNext(epoch, service.state(), snapshot);
  }

  /**
   * Makes a written snapshot the latest one, and deletes generations that no reader needs any more.
   *
   * @param service as it is now, which may be later than the snapshot
   */
  public StoredService publish(Epoch epoch, StoredService service, SnapshotWrite snapshot)
      throws StoreException {
    return new StoredService(service.image(), store.publish(epoch, service.state(), snapshot));
  }

  /** Deletes generations that no reader needs and those that were never committed. */
  public void removeOld(Epoch epoch, StoredService service) throws StoreException {
    store.removeOld(epoch, service.state());
  }

  /** Deletes the service's config, upon which muxes stop serving it. All else is kept. */
  public void delete(Epoch epoch, StoredService service) throws StoreException {
    store.delete(epoch, service.state());
  }
}
