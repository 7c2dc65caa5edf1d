// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import static java.util.Map.entry;

import io.fairlead.controller.backends.BackendView;
import io.fairlead.controller.backends.Change;
import io.fairlead.controller.image.UpkeepState.Kind;
import io.fairlead.controller.plane.Origin;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.service.ControlPlane;
import io.fairlead.controller.services.ServiceView;
import io.netty.util.NetUtil;
import io.vertx.core.Future;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** The operations that change something: each one call of the control plane, under its origin. */
final class Writes {
  /** What a request asks for, and the answer that the result makes. */
  private record Asked(
      Function<WriteOptions, CompletionStage<Result>> call, Function<Result, Answer> answer) {}

  private final ControlPlane plane;
  private final Retries retries;

  Writes(ControlPlane plane) {
    this.plane = plane;
    this.retries = new Retries(plane);
  }

  /** By the names of the contract. */
  Map<String, Function<Request, Future<Answer>>> operations() {
    return Map.ofEntries(
        entry("createService", operation(this::createService)),
        entry("putService", operation(this::putService)),
        entry("changeService", operation(this::changeService)),
        entry("deleteService", operation(this::deleteService)),
        entry("putBackend", operation(this::putBackend)),
        entry("changeBackend", operation(this::changeBackend)),
        entry("removeBackend", operation(this::removeBackend)),
        entry("changeBackends", operation(this::changeBackends)),
        entry("rebalance", operation(request -> upkeep(request, Kind.REBALANCE))),
        entry("defragment", operation(request -> upkeep(request, Kind.DEFRAGMENT))),
        entry("stopUpkeep", operation(this::stopUpkeep)));
  }

  private Function<Request, Future<Answer>> operation(Function<Request, Asked> asked) {
    return request ->
        Future.fromCompletionStage(
            retries.answer(request, retry -> commit(request, asked.apply(request), retry)));
  }

  private static CompletionStage<Answer> commit(
      Request request, Asked asked, Optional<Retries.Key> retry) {
    Origin origin =
        new Origin(
            request.caller(),
            request.line(),
            request.recordedBody(),
            retry.map(
                key ->
                    new Origin.Retry(
                        key.name(),
                        key.digest(),
                        result -> Retries.keep(asked.answer().apply(result)))));
    WriteOptions options = new WriteOptions(request.dryRun(), origin, request.precondition());
    return asked.call().apply(options).thenApply(asked.answer());
  }

  private Asked createService(Request request) {
    return new Asked(
        options -> plane.createService(request.serviceSpec(), options),
        result -> Answer.created(result, "/v1/services/" + result.service()));
  }

  private Asked putService(Request request) {
    Optional<ServiceView> present = plane.service(request.service());
    return new Asked(
        options -> plane.putService(request.serviceState(present), request.pool(), options),
        result ->
            present.isPresent()
                ? Answer.ok(result)
                : Answer.created(result, "/v1/services/" + result.service()));
  }

  private Asked upkeep(Request request, Kind kind) {
    return new Asked(
        options -> plane.startUpkeep(request.service(), request.upkeep(kind), options), Answer::ok);
  }

  private Asked stopUpkeep(Request request) {
    return new Asked(options -> plane.stopUpkeep(request.service(), options), Answer::ok);
  }

  private Asked changeService(Request request) {
    return new Asked(
        options -> plane.changeService(request.service(), request.serviceChange(), options),
        Answer::ok);
  }

  private Asked deleteService(Request request) {
    return new Asked(options -> plane.deleteService(request.service(), options), Answer::ok);
  }

  private Asked putBackend(Request request) {
    int id = request.backend();
    String address = request.body().getString("address");
    Optional<BackendView> live =
        plane.backends(request.service()).stream().filter(b -> b.id() == id).findFirst();
    if (live.isEmpty()) {
      return change(
          request,
          new Change.Add(id, address, request.weight()),
          result ->
              Answer.created(
                  result, "/v1/services/%s/backends/%d".formatted(result.service(), id)));
    }
    request.precondition().checkAbsent("there is a backend %d".formatted(id));
    if (!sameAddress(address, live.get().address())) {
      throw new Refusal(
          Refusal.Kind.CONFLICT,
          "address",
          address,
          "%s, the address of the live backend %d".formatted(live.get().address(), id));
    }
    return change(request, new Change.Weight(id, request.weight()), Answer::ok);
  }

  private Asked changeBackend(Request request) {
    return change(request, new Change.Weight(request.backend(), request.weight()), Answer::ok);
  }

  private Asked removeBackend(Request request) {
    return change(request, new Change.Remove(request.backend()), Answer::ok);
  }

  private Asked changeBackends(Request request) {
    return new Asked(
        options -> plane.change(request.service(), request.changes(), options), Answer::ok);
  }

  private Asked change(Request request, Change change, Function<Result, Answer> answer) {
    return new Asked(options -> plane.change(request.service(), List.of(change), options), answer);
  }

  /** Both are literals: neither is looked up in the DNS. */
  private static boolean sameAddress(String one, String other) {
    InetAddress address = NetUtil.createInetAddressFromIpAddressString(one);
    return address != null && address.equals(NetUtil.createInetAddressFromIpAddressString(other));
  }
}
