// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.generations;

import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.RingChange;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The latest generations of a service, as far as this controller saw them: those since it loaded
 * the service, and of those before what ZooKeeper still had as deltas.
 */
public record GenerationRoutes() implements Resource {
  /** The newest first. */
  private record Generations(long generation, List<RingChange> changes) {
    static Generations of(Ring ring) {
      List<RingChange> changes = new ArrayList<>(ring.changes());
      Collections.reverse(changes);
      return new Generations(ring.generation(), changes);
    }
  }

  @Override
  public void register(Routes routes) {
    routes.ofService(
        "getGenerations", (request, service) -> Generations.of(service.image().ring()));
  }
}
