// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import io.fairlead.controller.core.image.Drain.Then;
import io.fairlead.controller.core.words.Word;
import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** Draining backends, undoing it, and how far it is. */
public record DrainRoutes(Plane plane, Drains drains, Supplier<DrainWatch> watch)
    implements Resource {
  private record Order(
      List<Integer> ids, Optional<Integer> deadlineSeconds, Optional<String> then) {}

  private record Undo(List<Integer> ids) {}

  @Override
  public void register(Routes routes) {
    routes.list(
        "listDrains",
        request ->
            plane.services().stream()
                .flatMap(service -> DrainView.of(service.image(), watch.get()).stream())
                .toList(),
        DrainView::key,
        String::valueOf);
    routes.write("drainBackends", this::drain);
    routes.write(
        "undrainBackends",
        request -> {
          List<Integer> ids = request.body(Undo.class).ids();
          return Write.of(options -> drains.undrain(request.service(), ids, options));
        });
  }

  private Write drain(Request request) {
    Order order = request.body(Order.class);
    String then = order.then().orElse(Then.KEEP.word());
    DrainOrder drain =
        new DrainOrder(
            order.ids(),
            order.deadlineSeconds(),
            Word.parse(Then.class, then)
                .orElseThrow(() -> Refusal.invalid("then", then, Word.allowed(Then.class))));
    return Write.of(options -> drains.drain(request.service(), drain, options));
  }
}
