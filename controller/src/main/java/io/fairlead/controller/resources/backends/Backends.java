// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** Writes to the backends of a service. */
public interface Backends {
  /**
   * Commits all of {@code changes} in one generation, or none of them (Beamer, NSDI '18, §4.5: an
   * explicit commit).
   */
  CompletionStage<Result> change(String service, List<Change> changes, WriteOptions options);
}
