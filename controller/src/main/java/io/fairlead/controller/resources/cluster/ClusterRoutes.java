// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.cluster;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import java.util.List;

/** Settings of the whole cluster. */
public record ClusterRoutes(Cluster cluster) implements Resource {
  private record View(List<String> vipRanges, List<String> neverVips) {
    static View of(ClusterSettings settings) {
      return new View(settings.vipRanges(), settings.neverVips());
    }
  }

  @Override
  public void register(Routes routes) {
    routes.read("getCluster", request -> Answer.tagged(request, View.of(cluster.settings())));
    routes.write("putCluster", this::put);
  }

  private Write put(Request request) {
    ClusterSettings asked = ClusterRules.asked(request.body(ClusterSpec.class));
    return new Write(
        options -> cluster.changeCluster(asked, options), result -> Answer.ok(View.of(asked)));
  }
}
