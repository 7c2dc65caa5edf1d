// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.plane.Origin;
import io.fairlead.controller.plane.Plane;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.repository.Backup;
import io.fairlead.controller.repository.StoredService;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import java.time.temporal.ChronoUnit;
import java.util.function.Function;

/** Everything needed to rebuild the cluster, hash keys included, as JSON. */
record LiveBackup(Plane plane, ServiceStore store, Journal journal, Notes notes)
    implements Function<Origin, byte[]> {
  /**
   * Leaves an audit record before it returns the secrets.
   *
   * @throws Refusal if ZooKeeper cannot be read, or the record cannot be written
   */
  @Override
  public byte[] apply(Origin origin) {
    try {
      long epoch = store.epoch();
      journal.record(notes.read(epoch, origin));
      return Backup.of(
              store.cluster(),
              notes.clock().instant().truncatedTo(ChronoUnit.SECONDS),
              epoch,
              store.lastServiceId(),
              store.settings(),
              plane.services().stream().map(StoredService::image).toList())
          .json();
    } catch (StoreException e) {
      throw Unavailable.store(e);
    }
  }
}
