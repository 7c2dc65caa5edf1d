// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import java.util.List;
import java.util.function.Supplier;

/** What probes find, and backends that health leaves alone. */
public record HealthRoutes(Supplier<List<HealthView>> views, HealthHolds holds)
    implements Resource {
  private record Order(List<Integer> ids) {}

  @Override
  public void register(Routes routes) {
    routes.list("listHealth", request -> views.get(), HealthView::service, String::valueOf);
    routes.write("holdHealth", request -> hold(request, true));
    routes.write("releaseHealth", request -> hold(request, false));
  }

  private Write hold(Request request, boolean held) {
    List<Integer> ids = request.body(Order.class).ids();
    return Write.of(options -> holds.holdHealth(request.service(), ids, held, options));
  }
}
