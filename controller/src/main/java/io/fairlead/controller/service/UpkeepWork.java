// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.plan.UpkeepPlan;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.upkeep.UpkeepJob;
import io.fairlead.controller.store.StoreException;
import java.time.Instant;

/** The iterations of a rebalance or defragmentation, one a window. */
final class UpkeepWork implements Work {
  private final UpkeepPlan upkeep;
  private final Commit commit;

  /** Before which an iteration is not repeated that found nothing to move. */
  private Instant idleUntil = Instant.MIN;

  UpkeepWork(UpkeepPlan upkeep, Commit commit) {
    this.upkeep = upkeep;
    this.commit = commit;
  }

  @Override
  public String tag() {
    return "upkeep";
  }

  @Override
  public Instant due(ServiceImage image, Instant now) {
    return image
        .upkeep()
        .filter(UpkeepState::isRunning)
        .map(state -> Instant.ofEpochSecond(UpkeepJob.due(image, state)))
        .map(due -> due.isAfter(idleUntil) ? due : idleUntil)
        .orElse(EventQueue.NEVER);
  }

  @Override
  public void run(ServiceImage image, Instant now) throws StoreException {
    PoolPlan plan = upkeep.step(image, now, false);
    UpkeepState after = plan.after().upkeep().orElseThrow();
    if (plan.result().movedBuckets() == 0 && after.isRunning()) {
      idleUntil = now.plusSeconds(image.config().windowSeconds());
      return;
    }
    String what =
        "%s of %s, iteration %d".formatted(after.kind(), image.config().name(), after.iterations());
    commit.of(plan, WriteOptions.COMMIT.with(Origin.controller(what)));
  }
}
