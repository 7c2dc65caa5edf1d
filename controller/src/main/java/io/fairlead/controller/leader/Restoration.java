// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Restore;
import io.fairlead.controller.store.ServiceIds;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.Backup;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates what a backup has. Muxes come first, so that they can say which generations they have
 * applied.
 */
record Restoration(Backup backup, Facilities from) implements Restore.Services {
  private static final Logger LOG = LoggerFactory.getLogger(Restoration.class);
  private static final Duration CONNECT = Duration.ofSeconds(30);

  /**
   * Waits for ZooKeeper, then restores.
   *
   * @throws IllegalArgumentException if this ZooKeeper does not allow it
   */
  void run() throws IOException, StoreException {
    try {
      while (!from.store.awaitConnection(CONNECT)) {
        LOG.debug("{} waits for ZooKeeper", from.options.id());
      }
      from.store.checkOwn(from.options.protectsOpen());
      new Restore(from.store, from.tree, Facilities.WRITE_DEADLINE)
          .run(backup.cluster(), backup.epoch(), this);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for ZooKeeper", e);
    }
  }

  @Override
  public ServiceIds create(Epoch epoch) throws StoreException {
    Set<String> wanted = backup.muxes().stream().map(AddedMux::id).collect(Collectors.toSet());
    for (AddedMux left : from.muxStore.all()) {
      if (!wanted.contains(left.id())) {
        from.muxStore.remove(epoch, left.id());
      }
    }
    for (AddedMux mux : backup.muxes()) {
      from.muxStore.restore(epoch, mux);
    }
    Map<String, Long> applied = from.muxWatch.appliedAfter(from.options.muxesRegister());
    ClusterSettings settings = backup.clusterSettings();
    if (!settings.equals(ClusterSettings.NONE)) {
      from.repository.store().changeSettings(epoch, settings);
    }
    Origin origin = Origin.controller("restore of the backup of " + backup.taken());
    Backup.Restored restored = backup.restored(from.options.clock().instant(), applied);
    for (ServiceImage image : restored.services()) {
      Result result = Result.unmoved(image, false);
      from.repository.with(from.notes.of(epoch, origin, result)).create(epoch, image);
    }
    return restored.ids();
  }
}
