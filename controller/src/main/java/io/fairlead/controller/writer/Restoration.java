// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.muxes.MuxWatch;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.MuxStore;
import io.fairlead.controller.store.Restore;
import io.fairlead.controller.store.ServiceIds;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.Backup;
import io.fairlead.controller.store.repository.ServiceRepository;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Creates what a backup has. Muxes come first, so that they can say which generations they have
 * applied.
 */
record Restoration(
    Backup backup,
    ServiceRepository repository,
    MuxStore muxes,
    MuxWatch watch,
    Notes notes,
    ControllerOptions options)
    implements Restore.Services {
  @Override
  public ServiceIds create(Epoch epoch) throws StoreException {
    Set<String> wanted = backup.muxes().stream().map(AddedMux::id).collect(Collectors.toSet());
    for (AddedMux left : muxes.all()) {
      if (!wanted.contains(left.id())) {
        muxes.remove(epoch, left.id());
      }
    }
    for (AddedMux mux : backup.muxes()) {
      muxes.restore(epoch, mux);
    }
    Map<String, Long> applied = watch.appliedAfter(options.muxesRegister());
    ClusterSettings settings = backup.clusterSettings();
    if (!settings.equals(ClusterSettings.NONE)) {
      repository.store().changeSettings(epoch, settings);
    }
    Origin origin = Origin.controller("restore of the backup of " + backup.taken());
    Backup.Restored restored = backup.restored(options.clock().instant(), applied);
    for (ServiceImage image : restored.services()) {
      Result result = Images.unmoved(image, false);
      repository.with(notes.of(epoch, origin, result)).create(epoch, image);
    }
    return restored.ids();
  }
}
