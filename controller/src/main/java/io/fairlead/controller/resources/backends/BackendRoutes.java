// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Unreachable;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.store.repository.StoredService;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The backends of a service, one by one or many at once. */
public record BackendRoutes(Plane plane, Backends backends, Supplier<List<MuxView>> muxes)
    implements Resource {
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
            change(request, new Change.Weight(id(request), request.body(Weight.class).weight())));
    routes.write(
        "removeBackend",
        request -> change(request, new Change.Remove(id(request), request.flag("dead"))));
    routes.write(
        "changeBackends",
        request -> {
          List<Change> changes = request.body(Changes.class).changes();
          return Write.of(options -> backends.change(request.service(), changes, options))
              .telling(result -> warned(result, changes));
        });
  }

  private Write put(Request request) {
    Change.Put change = request.body(Spec.class).change(id(request));
    return Write.creating(
            options -> backends.change(request.service(), List.of(change), options),
            result -> "/v1/services/%s/backends/%d".formatted(result.service(), change.id()))
        .telling(result -> warned(result, List.of(change)));
  }

  private Write change(Request request, Change change) {
    return Write.of(options -> backends.change(request.service(), List.of(change), options))
        .telling(result -> warned(result, List.of(change)));
  }

  /** With the backends of the pool, as it is then, that muxes can't send to. */
  private Result warned(Result result, List<Change> changes) {
    List<MuxView> live = muxes.get();
    Map<Integer, String> pool = new TreeMap<>();
    plane.services().stream()
        .filter(stored -> stored.image().config().name().equals(result.service()))
        .flatMap(stored -> stored.image().wanted().values().stream())
        .forEach(member -> pool.put(member.id(), member.address().toString()));
    for (Change change : changes) {
      if (change instanceof Change.Add add) {
        put(pool, add.id(), add.address());
      } else if (change instanceof Change.Put put) {
        put(pool, put.id(), put.address());
      } else if (change instanceof Change.Remove) {
        pool.remove(change.id());
      }
    }
    return result.withWarnings(Unreachable.warnings(new LinkedHashSet<>(pool.values()), live));
  }

  private static void put(Map<Integer, String> pool, int id, String text) {
    Address.parse(text).ifPresent(address -> pool.put(id, address.toString()));
  }

  private BackendView backend(Request request, StoredService service) {
    List<BackendView> views = BackendView.of(service.image(), muxes.get());
    return views.stream()
        .filter(backend -> backend.id() == id(request))
        .findFirst()
        .orElseThrow(
            () ->
                new Refusal(
                    Refusal.Kind.NOT_FOUND, "id", Integer.toString(id(request)), listed(views)));
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
