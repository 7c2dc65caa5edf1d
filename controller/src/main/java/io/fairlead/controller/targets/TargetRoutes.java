// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.targets;

import io.fairlead.controller.api.Answer;
import io.fairlead.controller.api.Resource;
import io.fairlead.controller.api.Routes;
import io.fairlead.controller.targets.MetricsTargets.Part;
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
