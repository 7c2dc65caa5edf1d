// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.hold.DefaultHold;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.StoreException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/** Begins or ends the hold that a service has by default. */
final class DefaultHoldWork implements Work {
  /** Changes the service's configuration. */
  interface ConfigCommit {
    void of(ServiceConfig changed, WriteOptions options) throws StoreException;
  }

  private final DefaultHold hold;
  private final ConfigCommit commit;

  DefaultHoldWork(LiveConnections live, ConfigCommit commit) {
    hold = new DefaultHold(live);
    this.commit = commit;
  }

  @Override
  public String tag() {
    return "default hold";
  }

  @Override
  public Instant due(ServiceImage image, Instant now) {
    return hold.due(image, now);
  }

  @Override
  public void run(ServiceImage image, Instant now) throws StoreException {
    Optional<DefaultHold.Change> change = hold.next(image, now.truncatedTo(ChronoUnit.SECONDS));
    if (change.isPresent()) {
      try {
        commit.of(change.get().config(), change.get().options());
        hold.committed();
      } catch (Refusal e) {
        hold.refused(image, e);
      }
    }
  }
}
