// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.fairlead.controller.service.ControlPlane;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.BodyHandler;
import io.vertx.ext.web.handler.PlatformHandler;
import io.vertx.ext.web.openapi.router.RequestExtractor;
import io.vertx.ext.web.openapi.router.RouterBuilder;
import io.vertx.openapi.contract.OpenAPIContract;
import java.io.IOException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** The REST API of one control plane on one TCP port. */
public final class ApiServer implements AutoCloseable {
  static final int BODY_LIMIT = 16 << 20;

  private static final int WORKERS = 8;
  private static final int IDLE_SECONDS = 120;
  private static final int CLOSE_SECONDS = 10;

  private final Vertx vertx;
  private final HttpServer http;
  private final Endpoint listen;

  private ApiServer(Vertx vertx, HttpServer http, Endpoint listen) {
    this.vertx = vertx;
    this.http = http;
    this.listen = listen;
  }

  /**
   * Starts to serve {@code plane} and returns once the port is open; port 0 picks a free one.
   *
   * @param metrics what {@code /metrics} shows; the API's own request metrics are added to it
   * @throws IOException if the port cannot be opened, naming it
   */
  public static ApiServer open(Endpoint listen, ControlPlane plane, PrometheusMeterRegistry metrics)
      throws IOException {
    Contract contract = Contract.load();
    OpenAPIContract api = check(contract);
    Vertx vertx =
        Vertx.vertx(
            new VertxOptions()
                .setEventLoopPoolSize(1)
                .setWorkerPoolSize(WORKERS)
                .setFileSystemOptions(new FileSystemOptions().setClassPathResolvingEnabled(false)));
    try {
      HttpServer http =
          join(
              vertx
                  .createHttpServer(
                      new HttpServerOptions()
                          .setHttp2ClearTextEnabled(false)
                          .setIdleTimeout(IDLE_SECONDS)
                          .setIdleTimeoutUnit(TimeUnit.SECONDS))
                  .requestHandler(router(vertx, contract, api, plane, metrics))
                  .invalidRequestHandler(Failures::invalidRequest)
                  .listen(listen.port(), listen.host()));
      return new ApiServer(vertx, http, new Endpoint(listen.host(), http.actualPort()));
    } catch (CompletionException e) {
      join(vertx.close());
      throw new IOException(
          "cannot listen on %s: %s".formatted(listen, e.getCause().getMessage()), e.getCause());
    }
  }

  /**
   * The contract as Vert.x's own. To check it Vert.x copies schemas out of its jar into the
   * temporary folder, where they would stay if this process were killed; so that is done by an
   * instance that ends at once and takes its copies along.
   */
  private static OpenAPIContract check(Contract contract) {
    Vertx checker = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1).setWorkerPoolSize(1));
    try {
      return join(contract.router(checker));
    } finally {
      join(checker.close());
    }
  }

  private static Router router(
      Vertx vertx,
      Contract contract,
      OpenAPIContract api,
      ControlPlane plane,
      PrometheusMeterRegistry metrics) {
    PlatformHandler measure = new RequestMetrics(api, metrics)::handle;
    PlatformHandler guard = new Guard(contract, api)::handle;
    RouterBuilder routes =
        RouterBuilder.create(vertx, api, RequestExtractor.withBodyHandler())
            .rootHandler(measure)
            .rootHandler(guard)
            .rootHandler(BodyHandler.create(false).setBodyLimit(BODY_LIMIT));
    new Operations(vertx, routes, contract, plane, metrics);
    Failures failures = new Failures(vertx, contract, api);
    routes.getRoutes().forEach(route -> route.addFailureHandler(failures::handleOperation));
    Router router = routes.createRouter();
    IntStream.range(400, 600)
        .forEach(
            status -> router.errorHandler(status, context -> failures.handle(context, status)));
    return router;
  }

  /** Where it listens, with the port that was picked. */
  public Endpoint listen() {
    return listen;
  }

  /** Stops accepting, lets requests under way finish for a moment, and ends its threads. */
  @Override
  public void close() {
    join(http.shutdown(CLOSE_SECONDS, TimeUnit.SECONDS));
    join(vertx.close());
  }

  private static <T> T join(Future<T> future) {
    return future.toCompletionStage().toCompletableFuture().join();
  }
}
