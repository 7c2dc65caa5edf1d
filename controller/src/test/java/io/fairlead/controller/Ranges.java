// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.leader.FairleadController;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The ranges of all VIPs in tests, which a controller needs before its first service. */
public final class Ranges {
  public static final List<String> ALL = List.of("10.0.0.0/8", "2001:db8::/32", "fd00::/16");

  /** In the body of a request that may create the first service. */
  public static final String FIELD = "\"vipRanges\":[\"%s\"]".formatted(String.join("\",\"", ALL));

  private Ranges() {}

  /** In a cluster of tests that bring none with their services. */
  public static void set(FairleadController controller) throws Exception {
    controller
        .cluster()
        .changeCluster(ClusterSettings.of(ALL, List.of()), WriteOptions.COMMIT)
        .toCompletableFuture()
        .get(30, TimeUnit.SECONDS);
  }
}
