// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Unavailable;
import io.fairlead.controller.resources.services.Listeners;
import io.fairlead.controller.service.Notes;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.MuxStore;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.Backup;
import io.fairlead.controller.store.repository.StoredService;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;

/** Everything needed to rebuild the cluster, hash keys included, as JSON. */
record LiveBackup(
    Supplier<Collection<StoredService>> services,
    ServiceStore store,
    MuxStore muxes,
    Journal journal,
    Notes notes)
    implements Function<Origin, byte[]> {
  private static final int ATTEMPTS = 10;

  /**
   * Leaves an audit record before it returns the secrets.
   *
   * @throws Refusal if ZooKeeper cannot be read, the record cannot be written, or services keep
   *     changing while they are read
   */
  @Override
  public byte[] apply(Origin origin) {
    try {
      journal.record(notes.read(store.epoch(), origin));
      for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        ClusterSettings settings = store.settings();
        List<ServiceImage> images = services.get().stream().map(StoredService::image).toList();
        // Services are read one after another. A VIP that has moved from one to another meanwhile
        // would be in both.
        if (Listeners.areDistinct(images.stream().map(ServiceImage::config).toList())
            && settings.equals(store.settings())) {
          return Backup.of(
                  store.cluster(),
                  notes.clock().instant().truncatedTo(ChronoUnit.SECONDS),
                  store.epoch(),
                  store.serviceIds(),
                  settings,
                  muxes.all(),
                  images)
              .json();
        }
      }
    } catch (StoreException e) {
      throw Unavailable.store(e);
    }
    throw Refusal.unavailable(
        "backup",
        "services changed VIPs each of the %d times that they were read".formatted(ATTEMPTS),
        "to try again while no VIPs or settings of the cluster change");
  }
}
