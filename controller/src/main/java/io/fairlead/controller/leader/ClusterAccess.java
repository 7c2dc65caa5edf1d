// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.resources.cluster.Cluster;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.concurrent.CompletionStage;

/** The settings of the whole cluster, as this controller reads and changes them. */
record ClusterAccess(Reads reads, Writes writes) implements Cluster {
  @Override
  public ClusterSettings settings() {
    return reads.settings();
  }

  @Override
  public CompletionStage<Result> changeCluster(ClusterSettings settings, WriteOptions options) {
    return writes.changeCluster(settings, options);
  }
}
