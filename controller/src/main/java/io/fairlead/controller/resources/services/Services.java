// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Writes to whole services. Each completes once it is committed in ZooKeeper, or with a {@link
 * Refusal}; a dry run returns the same plan and commits nothing.
 */
public interface Services {
  CompletionStage<Result> createService(ServiceSpec spec, WriteOptions options);

  /** Absent fields of {@code change} stay as they are. */
  CompletionStage<Result> changeService(String name, ServiceSpec change, WriteOptions options);

  /**
   * Makes the service what {@code spec} and {@code pool} say, in one commit: creates it, changes
   * only what differs, or changes nothing. An absent pool stays as it is.
   */
  CompletionStage<Result> putService(
      ServiceSpec spec, Optional<List<Change.Add>> pool, WriteOptions options);

  /** The result says how many connections end. The service is kept for a while. */
  CompletionStage<Result> deleteService(String name, WriteOptions options);

  /** Brings a deleted service back as it was: with its id, hash key, pool and ring. */
  CompletionStage<Result> undeleteService(String name, WriteOptions options);
}
