// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import io.fairlead.controller.core.image.HealthCheck;
import io.fairlead.controller.core.image.HealthCheck.Expect;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.http.Request;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Routes;
import io.fairlead.controller.http.Write;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Unreachable;
import io.fairlead.controller.resources.muxes.Unserved;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Supplier;

/** Whole services. Answers warn which of {@code muxes} do not announce the service. */
public record ServiceRoutes(Plane plane, Services services, Supplier<List<MuxView>> muxes)
    implements Resource {
  private static final int ANY_ID = 1;

  /** What a PUT has besides the specification. */
  private record Pool(Optional<List<Change.Add>> pool) {}

  @Override
  public void register(Routes routes) {
    routes.list(
        "listServices",
        request -> plane.services().stream().map(ServiceView::of).toList(),
        view -> view.config().name(),
        String::valueOf);
    routes.ofService("getService", (request, service) -> ServiceView.of(service));
    routes.write("createService", this::create);
    routes.write("putService", this::put);
    routes.write("changeService", this::change);
    routes.write(
        "deleteService",
        request -> Write.of(options -> services.deleteService(request.service(), options)));
    routes.write(
        "undeleteService",
        request -> Write.of(options -> services.undeleteService(request.service(), options)));
  }

  private Write create(Request request) {
    ServiceSpec spec = request.body(ServiceSpec.class);
    return Write.creating(options -> services.createService(spec, options), ServiceRoutes::location)
        .telling(result -> warned(result, spec, Optional.empty()));
  }

  private Write put(Request request) {
    ServiceSpec spec = request.body(ServiceSpec.class).toBuilder().name(request.service()).build();
    if (request.isRestricted() && spec.vipRanges().isPresent()) {
      throw Refusal.forbidden(
          "vipRanges",
          String.join(", ", spec.vipRanges().get()),
          "vipRanges only from an admin for all services, since they are of the whole cluster");
    }
    checkExpected(request, spec);
    Optional<List<Change.Add>> pool = request.body(Pool.class).pool();
    return Write.creating(
            options -> services.putService(spec, pool, options), ServiceRoutes::location)
        .telling(result -> warned(result, spec, pool));
  }

  private Write change(Request request) {
    ServiceSpec change = request.body(ServiceSpec.class);
    checkExpected(request, change);
    return Write.of(options -> services.changeService(request.service(), change, options))
        .telling(
            result -> {
              List<String> warnings = new ArrayList<>(unserved(result.service()));
              warnings.addAll(result.warnings());
              return result.withWarnings(warnings);
            });
  }

  /**
   * An admin of some services does not choose what probes look for in answers: by trying one text
   * after the other it could read, from the muxes' addresses, what servers show to these alone.
   */
  private void checkExpected(Request request, ServiceSpec asked) {
    if (!request.isRestricted()) {
      return;
    }
    Optional<Expect> now =
        config(request.service()).flatMap(ServiceConfig::healthCheck).flatMap(HealthCheck::expect);
    Optional<ServiceSpec.Expect> expect = asked.healthCheck().flatMap(ServiceSpec.Health::expect);
    checkExpected("body", expect.flatMap(ServiceSpec.Expect::body), now.flatMap(Expect::body));
    checkExpected("hex", expect.flatMap(ServiceSpec.Expect::hex), now.flatMap(Expect::hex));
  }

  private static void checkExpected(String field, Optional<String> asked, Optional<String> now) {
    asked
        .filter(text -> !text.isEmpty() && !now.equals(asked))
        .ifPresent(
            text -> {
              throw Refusal.forbidden(
                  "healthCheck.expect." + field,
                  text,
                  "%s, as it is, or none; another one only from an admin for all services, since it"
                          .formatted(now.orElse("none"))
                      + " tells what is in the servers' answers");
            });
  }

  /**
   * With what a new service's specification says, since a dry run leaves no service. The key, which
   * may be drawn, has no part in it.
   */
  private Result warned(Result result, ServiceSpec spec, Optional<List<Change.Add>> pool) {
    List<MuxView> live = muxes.get();
    List<String> warnings =
        new ArrayList<>(
            result.created()
                ? Unserved.ofNew(ServiceRules.created(spec, ANY_ID, new Random()), live)
                : unserved(result.service()));
    List<String> addresses =
        pool.stream()
            .flatMap(List::stream)
            .flatMap(added -> Address.parse(added.address()).stream())
            .map(Address::toString)
            .toList();
    warnings.addAll(Unreachable.warnings(addresses, live));
    warnings.addAll(result.warnings());
    return result.withWarnings(warnings);
  }

  /** None of a service that is gone meanwhile. */
  private List<String> unserved(String service) {
    return config(service).map(config -> Unserved.of(config, muxes.get())).orElse(List.of());
  }

  private Optional<ServiceConfig> config(String service) {
    return plane.services().stream()
        .map(stored -> stored.image().config())
        .filter(config -> config.name().equals(service))
        .findFirst();
  }

  private static String location(Result result) {
    return "/v1/services/" + result.service();
  }
}
