// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.events;

import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.plane.Plane;
import io.vertx.core.Future;
import java.util.List;
import java.util.function.Supplier;

/** The stream of changes. */
public final class EventRoutes implements Resource {
  private final Plane plane;
  private final Supplier<List<MuxView>> muxes;
  private final Supplier<DrainWatch> drains;
  private EventStreams streams;

  public EventRoutes(Plane plane, Supplier<List<MuxView>> muxes, Supplier<DrainWatch> drains) {
    this.plane = plane;
    this.muxes = muxes;
    this.drains = drains;
  }

  @Override
  public void register(Routes routes) {
    streams =
        new EventStreams(
            routes, before -> EventLog.State.of(plane, muxes.get(), drains.get(), before));
    routes.stream("streamEvents", streams::handle);
  }

  @Override
  public Future<Void> close() {
    return streams.close();
  }
}
