// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.targets;

import io.fairlead.controller.http.Answer;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.targets.MetricsTargets.Part;
import java.util.Locale;
import java.util.Optional;

/** For {@code http_sd_configs} of Prometheus. */
public record TargetRoutes(MetricsTargets targets) implements Resource {
  @Override
  public void register(Routes routes) {
    routes.controllers(targets::controllerUrls);
    routes.read(
        "listMetricsTargets",
        request -> {
          Optional<Part> part =
              request.optional("part").map(word -> Part.valueOf(word.toUpperCase(Locale.ROOT)));
          return Answer.ok(targets.list(part));
        });
  }
}
