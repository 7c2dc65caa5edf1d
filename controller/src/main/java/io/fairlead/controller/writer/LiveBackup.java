// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.plane.Plane;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.repository.Backup;
import io.fairlead.controller.repository.StoredService;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import java.time.Clock;
import java.time.temporal.ChronoUnit;
import java.util.function.Supplier;

/** Everything needed to rebuild the cluster, hash keys included, as JSON. */
record LiveBackup(Plane plane, ServiceStore store, Clock clock) implements Supplier<byte[]> {
  /**
   * @throws Refusal if ZooKeeper cannot be read
   */
  @Override
  public byte[] get() {
    try {
      return Backup.of(
              store.cluster(),
              clock.instant().truncatedTo(ChronoUnit.SECONDS),
              store.epoch(),
              store.lastServiceId(),
              plane.services().stream().map(StoredService::image).toList())
          .json();
    } catch (StoreException e) {
      throw Unavailable.store(e);
    }
  }
}
