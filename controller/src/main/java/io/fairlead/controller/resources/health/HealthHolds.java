// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** Keeps health from taking backends out of service. */
public interface HealthHolds {
  /**
   * @param held whether health leaves the backends alone from now on, or no longer
   */
  CompletionStage<Result> holdHealth(
      String service, List<Integer> ids, boolean held, WriteOptions options);
}
