// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.StoreException;
import java.time.Instant;

/** One kind of what a leader does by itself for a service; on the service's event thread. */
interface Work {
  /** Of its events in the {@link EventQueue}. */
  String tag();

  /**
   * When it is due next, by the image and by what is known; {@link EventQueue#AT_ONCE} also while
   * something has to be looked at again and again, {@link EventQueue#NEVER} until the next commit.
   * Asked after each commit and event, so it walks through no ring.
   *
   * @param now by the wall clock, which may have been set back
   */
  Instant due(ServiceImage image, Instant now);

  /** Does what is due. */
  void run(ServiceImage image, Instant now) throws StoreException;

  /** Commits a plan on the image that {@link #run} was given. */
  interface Commit {
    Result of(PoolPlan plan, WriteOptions options) throws StoreException;
  }
}
