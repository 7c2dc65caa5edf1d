// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.cluster;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.concurrent.CompletionStage;

/** Reads and writes settings of the whole cluster. */
public interface Cluster {
  /**
   * As new as anything committed before the call, while ZooKeeper can be reached.
   *
   * @throws Refusal if they are not known
   */
  ClusterSettings settings();

  /** Completes once it is committed, or with a {@link Refusal}; a dry run commits nothing. */
  CompletionStage<Result> changeCluster(ClusterSettings settings, WriteOptions options);
}
