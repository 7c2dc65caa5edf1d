// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Unreachable;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.store.repository.StoredService;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The backends of a service, one by one or many at once. */
public record BackendRoutes(Backends backends, Supplier<List<MuxView>> muxes) implements Resource {
  private static final int LISTED_IDS = 20;

  /** The body of a PUT; the id is in the path. */
  private record Spec(
      String address,
      Integer weight,
      Optional<Integer> slowStartSeconds,
      Optional<Boolean> foreign) {
    Change.Put change(int id) {
      return new Change.Put(
          id,
          address,
          weight == null ? Change.DEFAULT_WEIGHT : weight,
          slowStartSeconds,
          foreign.orElse(false));
    }
  }

  private record Weight(int weight) {}

  private record Changes(List<Change> changes) {}

  @Override
  public void register(Routes routes) {
    routes.listOfService(
        "listBackends",
        service -> BackendView.of(service.image(), muxes.get()),
        BackendView::id,
        BackendRoutes::id);
    routes.ofService("getBackend", this::backend);
    routes.write("putBackend", this::put);
    routes.write(
        "changeBackend",
        request ->
            change(
                request,
                List.of(new Change.Weight(id(request), request.body(Weight.class).weight()))));
    routes.write(
        "removeBackend",
        request -> change(request, List.of(new Change.Remove(id(request), request.flag("dead")))));
    routes.write(
        "changeBackends", request -> change(request, request.body(Changes.class).changes()));
  }

  private Write put(Request request) {
    Change.Put change = request.body(Spec.class).change(id(request));
    return Write.creating(
            options -> backends.change(request.service(), List.of(change), options),
            result -> "/v1/services/%s/backends/%d".formatted(result.service(), change.id()))
        .telling(this::warned);
  }

  private Write change(Request request, List<Change> changes) {
    return Write.of(options -> backends.change(request.service(), changes, options))
        .telling(this::warned);
  }

  /** With the backends that muxes can't send to. */
  private Result warned(Result result) {
    List<String> pool =
        result.pool().values().stream().map(member -> member.address().toString()).toList();
    return result.withWarnings(Unreachable.warnings(pool, muxes.get()));
  }

  private BackendView backend(Request request, StoredService service) {
    List<BackendView> views = BackendView.of(service.image(), muxes.get());
    return views.stream()
        .filter(backend -> backend.id() == id(request))
        .findFirst()
        .orElseThrow(() -> Refusal.missing("id", id(request), listed(views)));
  }

  private static String listed(List<BackendView> backends) {
    if (backends.isEmpty()) {
      return "there are no backends";
    }
    int more = backends.size() - LISTED_IDS;
    return backends.stream()
            .limit(LISTED_IDS)
            .map(backend -> Integer.toString(backend.id()))
            .collect(Collectors.joining(", "))
        + (more > 0 ? " and %d more".formatted(more) : "");
  }

  private static int id(Request request) {
    return request.pathNumber("id");
  }

  private static int id(String cursor) {
    if (!cursor.matches("[0-9]{1,5}")) {
      throw Refusal.invalid("cursor", cursor, "an id of a backend");
    }
    return Integer.parseInt(cursor);
  }
}
