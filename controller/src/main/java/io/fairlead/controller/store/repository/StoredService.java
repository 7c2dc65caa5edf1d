// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.repository;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.store.ServiceState;

/** A service as ZooKeeper holds it: its image, and the state that the next write needs. */
public record StoredService(ServiceImage image, ServiceState state) {
  /** Differs after every commit, and is the same whichever controller is asked. */
  public String version() {
    return state.version();
  }

  /** Whether readers would be better off with a new snapshot. */
  public boolean isSnapshotDue() {
    return state.generations().isSnapshotDue();
  }
}
