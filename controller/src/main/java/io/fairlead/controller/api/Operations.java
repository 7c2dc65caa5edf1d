// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.backends.BackendView;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.plane.Health;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.service.ControlPlane;
import io.fairlead.controller.service.ControlPlane.Look;
import io.fairlead.controller.services.ServiceView;
import io.fairlead.controller.store.Journal;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.openapi.router.RouterBuilder;
import io.vertx.openapi.contract.Operation;
import io.vertx.openapi.validation.ValidatedRequest;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * One handler per operation of the contract: a checked request in, one call of the control plane,
 * its record out as JSON. Calls and encoding run on worker threads, never on an event loop: a ring
 * of millions of buckets takes a while to walk.
 */
final class Operations {
  static final ObjectMapper JSON =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .serializationInclusion(JsonInclude.Include.NON_ABSENT)
          .build();

  private static final int LISTED_IDS = 20;
  private static final int AUDIT_LIMIT = 100;

  private final Vertx vertx;
  private final ControlPlane plane;
  private final Contract contract;

  Operations(
      Vertx vertx,
      RouterBuilder routes,
      Contract contract,
      ControlPlane plane,
      PrometheusMeterRegistry metrics) {
    this.vertx = vertx;
    this.plane = plane;
    this.contract = contract;
    list(routes, "listServices", request -> plane.services(), ServiceView::name, String::valueOf);
    ofService(routes, "getService", (request, look) -> look.service());
    answer(routes, "listBackends", request -> Future.succeededFuture(backends(request)));
    ofService(routes, "getBackend", Operations::backend);
    ofService(routes, "getRing", (request, look) -> look.ring());
    answer(
        routes,
        "explain",
        request ->
            Future.succeededFuture(
                tagged(request, plane.explain(request.service(), request.flow()))));
    list(routes, "listMuxes", request -> plane.muxes(), MuxView::id, String::valueOf);
    new Writes(plane).operations().forEach((name, call) -> write(routes, name, call));
    answer(routes, "listAudit", request -> Future.succeededFuture(audit(request)));
    answer(
        routes,
        "getBackup",
        request ->
            Future.succeededFuture(
                new Answer(200, "application/json", Buffer.buffer(plane.backup()), Map.of())));
    ofService(routes, "getUpkeep", (request, look) -> look.upkeep());
    answer(routes, "getHealth", request -> Future.succeededFuture(health()));
    answer(
        routes,
        "getMetrics",
        request ->
            Future.succeededFuture(
                new Answer(
                    200,
                    "text/plain; version=0.0.4; charset=utf-8",
                    Buffer.buffer(metrics.scrape()),
                    Map.of())));
    Buffer document = contract.document().toBuffer();
    answer(
        routes,
        "getContract",
        request -> Future.succeededFuture(new Answer(200, "application/json", document, Map.of())));
  }

  /** A list whose tag is that of its bytes. */
  private <T, K extends Comparable<K>> void list(
      RouterBuilder routes,
      String operation,
      Function<Request, List<T>> call,
      Function<T, K> key,
      Function<String, K> parse) {
    answer(
        routes,
        operation,
        request -> {
          Page<T> page =
              Page.of(call.apply(request), key, request.cursor(), parse, request.limit());
          Answer answer = tagged(request, page.entries());
          return Future.succeededFuture(linked(answer, page, request));
        });
  }

  /** Something of a service, tagged with the version that it is of. */
  private void ofService(
      RouterBuilder routes, String operation, BiFunction<Request, Look, Object> call) {
    answer(
        routes,
        operation,
        request -> {
          Look look = plane.look(request.service());
          Object shown = call.apply(request, look);
          return Future.succeededFuture(tagged(request, shown, look.service().version()));
        });
  }

  private Answer backends(Request request) {
    Look look = plane.look(request.service());
    String version = look.service().version();
    Page<BackendView> page =
        Page.of(
            look.backends(), BackendView::id, request.cursor(), Operations::id, request.limit());
    return linked(tagged(request, page.entries(), version), page, request);
  }

  private static int id(String cursor) {
    if (!cursor.matches("[0-9]{1,5}")) {
      throw new Refusal(Refusal.Kind.INVALID, "cursor", cursor, "an id of a backend");
    }
    return Integer.parseInt(cursor);
  }

  private static Answer linked(Answer answer, Page<?> page, Request request) {
    return page.link(request.http().path(), request.limit())
        .map(link -> answer.with("Link", link))
        .orElse(answer);
  }

  private static Answer tagged(Request request, Object record) {
    Answer answer = Answer.ok(record);
    return tagged(request, answer, EntityTags.of(answer.body()));
  }

  private static Answer tagged(Request request, Object record, String version) {
    return tagged(request, Answer.ok(record), version);
  }

  /** With its tag; without a body if the client has it already. */
  private static Answer tagged(Request request, Answer answer, String version) {
    boolean isKnown =
        request.header("If-None-Match").filter(h -> EntityTags.matches(h, version)).isPresent();
    Answer sent =
        isKnown ? new Answer(304, answer.mediaType(), Buffer.buffer(), answer.headers()) : answer;
    return sent.with("ETag", EntityTags.quote(version));
  }

  private void write(
      RouterBuilder routes, String operation, Function<Request, Future<Answer>> call) {
    Operation model = routes.getRoute(operation).getOperation();
    answer(
        routes,
        operation,
        request -> {
          if (model.getRequestBody() != null) {
            Violation.find(contract, "", request.body(), contract.body(model))
                .ifPresent(
                    violation -> {
                      throw new Violation.Found(violation);
                    });
          }
          return call.apply(request);
        });
  }

  /** Nobody's memory will do for a read that says no-cache (RFC 9111, section 5.2.1.4). */
  private Request confirmed(Request request) {
    HttpServerRequest http = request.http();
    List<String> wanted = http.headers().getAll("Cache-Control");
    if (http.method().equals(HttpMethod.GET)
        && http.path().startsWith("/v1/")
        && wanted.stream().anyMatch(each -> each.toLowerCase(Locale.ROOT).contains("no-cache"))) {
      plane.confirm();
    }
    return request;
  }

  /** {@code call} runs on a worker; what it throws becomes the failure of the request. */
  private void answer(
      RouterBuilder routes, String operation, Function<Request, Future<Answer>> call) {
    routes
        .getRoute(operation)
        .addHandler(
            context -> {
              ValidatedRequest valid = context.get(RouterBuilder.KEY_META_DATA_VALIDATED_REQUEST);
              var here = vertx.getOrCreateContext();
              here.executeBlocking(() -> call.apply(confirmed(new Request(valid, context))), false)
                  .compose(Function.identity())
                  .onComplete(
                      done ->
                          here.runOnContext(
                              nothing -> {
                                if (done.succeeded()) {
                                  send(context, done.result());
                                } else {
                                  context.fail(done.cause());
                                }
                              }));
            });
  }

  private static void send(RoutingContext context, Answer answer) {
    var response = context.response().setStatusCode(answer.status());
    answer.headers().forEach(response::putHeader);
    if (answer.status() != 304) {
      response.putHeader("Content-Type", answer.mediaType());
    }
    response.end(answer.body());
  }

  private static BackendView backend(Request request, Look look) {
    List<BackendView> backends = look.backends();
    return find(backends, request.backend())
        .orElseThrow(
            () ->
                new Refusal(
                    Refusal.Kind.NOT_FOUND,
                    "id",
                    Integer.toString(request.backend()),
                    listed(
                        "backends",
                        backends.stream().map(b -> Integer.toString(b.id())).toList())));
  }

  /** Newest first; the cursor is the number of the last record of the page before. */
  private Answer audit(Request request) {
    OptionalLong before =
        request.cursor().map(Operations::number).map(OptionalLong::of).orElse(OptionalLong.empty());
    int limit = request.limit().orElse(AUDIT_LIMIT);
    Journal.Page page = plane.audit(before, limit);
    List<AuditView> records =
        page.entries().stream().map(each -> AuditView.of(each.number(), each.entry())).toList();
    Answer answer = tagged(request, records);
    return page.next().isEmpty()
        ? answer
        : answer.with(
            "Link",
            "<%s?limit=%d&cursor=%d>; rel=\"next\""
                .formatted(request.http().path(), limit, page.next().getAsLong()));
  }

  private static long number(String cursor) {
    if (!cursor.matches("[0-9]{1,10}")) {
      throw new Refusal(Refusal.Kind.INVALID, "cursor", cursor, "the number of a record");
    }
    return Long.parseLong(cursor);
  }

  /** 503, with the same body, while not even reads are served. */
  private Answer health() {
    Health health = plane.health();
    boolean serves = true;
    try {
      plane.services();
    } catch (Refusal refusal) {
      serves = false;
    }
    return new Answer(serves ? 200 : 503, "application/json", Answer.encode(health), Map.of());
  }

  private static Optional<BackendView> find(List<BackendView> backends, int id) {
    return backends.stream().filter(backend -> backend.id() == id).findFirst();
  }

  private static String listed(String what, List<String> names) {
    if (names.isEmpty()) {
      return "there are no " + what;
    }
    return names.stream().limit(LISTED_IDS).collect(Collectors.joining(", "))
        + (names.size() > LISTED_IDS ? " and %d more".formatted(names.size() - LISTED_IDS) : "");
  }
}
