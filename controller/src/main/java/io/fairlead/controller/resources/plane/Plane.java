// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.store.repository.StoredService;
import java.util.Collection;
import java.util.Optional;
import java.util.function.Function;

/** What every resource reads, free of HTTP: one immutable version of each service at a time. */
public interface Plane {
  /**
   * Returns once the next read is as new as anything committed before this call.
   *
   * @throws Refusal if that cannot be known now
   */
  void confirm();

  /**
   * By ascending name.
   *
   * @throws Refusal if no services have been loaded yet
   */
  Collection<StoredService> services();

  /**
   * What {@code view} makes of one version of a service.
   *
   * @throws Refusal if there is no such service, or from {@code view}
   */
  <T> T read(String service, Function<StoredService, T> view);

  /** As known here; asks nothing of ZooKeeper and never waits. */
  Health health();

  /** Whether services have been loaded, so that reads are answered; never waits. */
  boolean isServing();

  /**
   * The answer kept for a request that may be sent again, {@link Origin.Retry}.
   *
   * @throws Refusal if ZooKeeper cannot be read
   */
  Optional<KeptAnswer> answer(String key);
}
