// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.muxes;

import io.fairlead.controller.api.Resource;
import io.fairlead.controller.api.Routes;
import java.util.List;
import java.util.function.Supplier;

/** The live muxes by ascending id. */
public record MuxRoutes(Supplier<List<MuxView>> muxes) implements Resource {
  @Override
  public void register(Routes routes) {
    routes.list(
        "listMuxes",
        request ->
            request
                .optional("service")
                .map(name -> muxes.get().stream().map(mux -> mux.only(name)).toList())
                .orElseGet(muxes),
        MuxView::id,
        String::valueOf);
  }
}
