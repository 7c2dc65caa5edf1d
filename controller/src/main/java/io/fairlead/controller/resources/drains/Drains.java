// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** Starts and undoes drains; the leader ends them. */
public interface Drains {
  /** Takes all of the backends' buckets in one generation, and waits for their connections. */
  CompletionStage<Result> drain(String service, DrainOrder order, WriteOptions options);

  /** Gives draining backends the weights back that they had, in one generation. */
  CompletionStage<Result> undrain(String service, List<Integer> ids, WriteOptions options);
}
