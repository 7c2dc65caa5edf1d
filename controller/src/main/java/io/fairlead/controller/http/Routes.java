// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.repository.StoredService;
import io.micrometer.core.instrument.Counter;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.Json;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.openapi.router.RouterBuilder;
import io.vertx.openapi.contract.Operation;
import io.vertx.openapi.validation.ValidatedRequest;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Where {@link Resource}s register a handler for each of their operations: a request that the
 * contract allows in, an answer out. Handlers and encoding run on worker threads, never on an event
 * loop: a ring of millions of buckets takes a while to walk.
 */
public final class Routes {
  /** So that no number of reports can hold up other requests, or fill the memory. */
  private static final int SUBMITTING = 2;

  private static final int STREAMS_MAX = 256;

  private final Vertx vertx;
  private final WorkerExecutor workers;
  private final WorkerExecutor submissions;
  private final RouterBuilder builder;
  private final Contract contract;
  private final Plane plane;
  private final Retries retries;
  private final Access access;
  private final Origins origins;
  private final PrometheusMeterRegistry metrics;
  private final Room streams = new Room(STREAMS_MAX);

  Routes(
      Vertx vertx,
      RouterBuilder builder,
      Contract contract,
      Plane plane,
      Access access,
      Origins origins,
      PrometheusMeterRegistry metrics) {
    this.vertx = vertx;
    this.workers = vertx.createSharedWorkerExecutor("requests", ApiServer.WORKERS);
    this.submissions = vertx.createSharedWorkerExecutor("submissions", SUBMITTING);
    this.builder = builder;
    this.contract = contract;
    this.plane = plane;
    this.retries = new Retries(plane);
    this.access = access;
    this.origins = origins;
    this.metrics = metrics;
    busy();
  }

  private Counter busy() {
    return metrics.counter(Intake.BUSY, "limit", "streams");
  }

  /** An operation that changes nothing. */
  public void read(String operation, Function<Request, Answer> call) {
    handle(operation, request -> Future.succeededFuture(call.apply(request)));
  }

  /**
   * An operation without parameters that is answered on the event loop, since {@code call} never
   * waits. {@link Guard} has checked the request; Vert.x would do so on a worker thread.
   */
  public void immediate(String operation, Supplier<Answer> call) {
    builder
        .getRoute(operation)
        .setDoValidation(false)
        .addHandler(context -> call.get().send(context));
  }

  /** What {@code view} shows of one version of a service, tagged with that version. */
  public void ofService(String operation, BiFunction<Request, StoredService, Object> view) {
    read(
        operation,
        request ->
            plane.read(
                request.service(),
                service ->
                    Answer.tagged(request, view.apply(request, service), service.version())));
  }

  /**
   * A list, in pages if the request asks for them; its tag is that of its bytes.
   *
   * @param call the whole list by ascending {@code key}
   * @param parse the key that a cursor names
   */
  public <T, K extends Comparable<K>> void list(
      String operation,
      Function<Request, List<T>> call,
      Function<T, K> key,
      Function<String, K> parse) {
    read(
        operation,
        request -> {
          Page<T> page = request.page(call.apply(request), key, parse);
          return page.link(request, Answer.tagged(request, page.entries()));
        });
  }

  /** As {@link #list}, of one version of a service and tagged with that version. */
  public <T, K extends Comparable<K>> void listOfService(
      String operation,
      Function<StoredService, List<T>> call,
      Function<T, K> key,
      Function<String, K> parse) {
    read(
        operation,
        request ->
            plane.read(
                request.service(),
                service -> {
                  Page<T> page = request.page(call.apply(service), key, parse);
                  return page.link(
                      request, Answer.tagged(request, page.entries(), service.version()));
                }));
  }

  /** An operation that changes something, under the request's origin and precondition. */
  public void write(String operation, Function<Request, Write> asked) {
    Operation model = builder.getRoute(operation).getOperation();
    handle(
        operation,
        request -> {
          if (model.getRequestBody() != null) {
            Violation.find(contract, "", request.body(), contract.body(model))
                .ifPresent(
                    violation -> {
                      throw new Violation.Found(violation);
                    });
          }
          return Future.fromCompletionStage(
              retries.answer(request, retry -> commit(request, asked.apply(request), retry)));
        });
  }

  /**
   * An operation that changes the leader's memory and commits nothing. Its body may be compressed,
   * so it is checked against the contract here.
   *
   * @param call never waits
   * @param refused told of everything that is not taken in
   */
  public <T> void submit(
      String operation,
      Class<T> type,
      BiFunction<Sender, T, Answer> call,
      BiConsumer<Sender, RuntimeException> refused) {
    Operation model = builder.getRoute(operation).getOperation();
    builder
        .getRoute(operation)
        .setDoValidation(false)
        .addHandler(
            context ->
                answer(
                    context,
                    submissions,
                    () -> {
                      Sender sender = Access.sender(context);
                      try {
                        return Future.succeededFuture(
                            call.apply(sender, submitted(context, model, type)));
                      } catch (RuntimeException e) {
                        refused.accept(sender, e);
                        throw e;
                      }
                    }));
  }

  private <T> T submitted(RoutingContext context, Operation model, Class<T> type) {
    int most = contract.bodyLimit(model);
    byte[] body;
    try (InputStream first = ContentCoding.open(context, most);
        InputStream again = ContentCoding.open(context, most)) {
      JsonShape.check(contract, contract.body(model), first);
      body = again.readAllBytes();
    } catch (JsonProcessingException e) {
      throw new Problem.Found(Failures.malformed(beginning(context, most), e));
    } catch (IOException e) {
      throw new IllegalStateException("reading from memory failed", e);
    }
    Object json;
    try {
      json = Json.decodeValue(Buffer.buffer(body));
    } catch (DecodeException e) {
      throw new Problem.Found(Failures.malformed(Buffer.buffer(body)));
    }
    Violation.find(contract, "", json, contract.body(model))
        .ifPresent(
            violation -> {
              throw new Violation.Found(violation);
            });
    return Request.parse(body, type);
  }

  private static Buffer beginning(RoutingContext context, int most) {
    try (InputStream in = ContentCoding.open(context, most)) {
      return Buffer.buffer(in.readNBytes(Failures.BEGINNING));
    } catch (IOException e) {
      throw new IllegalStateException("reading from memory failed", e);
    }
  }

  /**
   * An operation that answers on the event loop, for as long as its client stays.
   *
   * @param handler runs if there is room for one more stream of the caller; it sets no handler of
   *     the response's end, which would replace what counts streams
   */
  public void stream(String operation, Handler<RoutingContext> handler) {
    builder
        .getRoute(operation)
        .addHandler(
            context -> {
              if (context.response().closed()) {
                return; // the caller went while its request was checked: no end is told any more
              }
              String caller = Room.caller(context);
              if (streams.isFull(1) || streams.isBeyondShare(caller, 1)) {
                busy().increment();
                context.fail(
                    Refusal.unavailable(
                        "streams",
                        "%d in all, %d of %s".formatted(streams.used(), streams.of(caller), caller),
                        "at most %d, and %d of a caller at one address; to try again when one has"
                                .formatted(streams.most(), streams.share())
                            + " ended"));
                return;
              }
              streams.hold(context);
              handler.handle(context);
            });
  }

  /** As the other {@code stream}; what {@code call} throws is the failure of the request. */
  public void streamOf(String operation, Consumer<Request> call) {
    stream(
        operation,
        context -> {
          ValidatedRequest valid = context.get(RouterBuilder.KEY_META_DATA_VALIDATED_REQUEST);
          call.accept(new Request(valid, context));
        });
  }

  /**
   * Whose pages may call this API, and whose API its page may call.
   *
   * @param urls of the controllers that run, without a path; may wait
   */
  public void controllers(Supplier<List<String>> urls) {
    origins.follow(vertx, urls);
  }

  /** Whether the token of a request that was let through still allows it. */
  public boolean isStillAllowed(RoutingContext context) {
    return access.isStillAllowed(context);
  }

  public Vertx vertx() {
    return vertx;
  }

  public PrometheusMeterRegistry metrics() {
    return metrics;
  }

  private static CompletionStage<Answer> commit(
      Request request, Write write, Optional<Retries.Key> retry) {
    Origin origin =
        request
            .origin()
            .with(
                retry.map(
                    key ->
                        new Origin.Retry(
                            key.name(),
                            key.digest(),
                            result -> Retries.keep(write.kept().apply(result)))));
    WriteOptions options =
        WriteOptions.COMMIT
            .with(request.dryRun())
            .with(request.onLoss())
            .with(origin)
            .with(request.precondition())
            .with(request.stages());
    return write.call().apply(options).thenApply(write.answer());
  }

  /** A read that says no-cache waits until it is confirmed (RFC 9111, section 5.2.1.4). */
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

  /** What {@code call} throws becomes the failure of the request. */
  private void handle(String operation, Function<Request, Future<Answer>> call) {
    builder
        .getRoute(operation)
        .addHandler(
            context -> {
              ValidatedRequest valid = context.get(RouterBuilder.KEY_META_DATA_VALIDATED_REQUEST);
              answer(context, workers, () -> call.apply(confirmed(new Request(valid, context))));
            });
  }

  private void answer(RoutingContext context, WorkerExecutor on, Callable<Future<Answer>> call) {
    var here = vertx.getOrCreateContext();
    Callable<Future<Answer>> awaited =
        () -> {
          Intake.checkIsAwaited(context, metrics);
          return call.call();
        };
    Intake.during(context, on.executeBlocking(awaited, false).compose(Function.identity()))
        .onComplete(
            done ->
                here.runOnContext(
                    nothing -> {
                      if (done.succeeded()) {
                        done.result().send(context);
                      } else {
                        context.fail(done.cause());
                      }
                    }));
  }
}
