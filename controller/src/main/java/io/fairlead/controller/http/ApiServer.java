// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.resources.plane.Plane;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.PlatformHandler;
import io.vertx.ext.web.openapi.router.RequestExtractor;
import io.vertx.ext.web.openapi.router.RouterBuilder;
import io.vertx.openapi.contract.OpenAPIContract;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** The REST API of one control plane on one TCP port. */
public final class ApiServer implements AutoCloseable {
  static final int WORKERS = 8;
  private static final int IDLE_SECONDS = 120;
  private static final int CLOSE_SECONDS = 10;

  private final Vertx vertx;
  private final HttpServer http;
  private final Endpoint listen;
  private final boolean isTls;
  private final List<Resource> resources;

  /** Stops what would otherwise ask for threads that have ended. */
  private final Runnable timers;

  private ApiServer(
      Vertx vertx,
      HttpServer http,
      List<Resource> resources,
      Runnable timers,
      Endpoint listen,
      boolean isTls) {
    this.timers = timers;
    this.vertx = vertx;
    this.http = http;
    this.resources = resources;
    this.listen = listen;
    this.isTls = isTls;
  }

  /** Read and checked once in a process: that takes longer than all else that opens a server. */
  private static final class Checked {
    static final Contract CONTRACT = Contract.load();
    static final OpenAPIContract API = check(CONTRACT);
  }

  /** As the other {@link #open}, without TLS and tokens. */
  public static ApiServer open(
      Endpoint listen, Plane plane, List<Resource> resources, PrometheusMeterRegistry metrics)
      throws IOException {
    return open(listen, Security.NONE, plane, resources, metrics);
  }

  /**
   * Starts to serve {@code resources} and returns once the port is open; port 0 picks a free one.
   *
   * @param metrics what {@code /metrics} shows; the API's own request metrics are added to it
   * @throws IllegalArgumentException if a file of {@code security} is invalid, naming it
   * @throws IOException if the port cannot be opened, naming it
   */
  public static ApiServer open(
      Endpoint listen,
      Security security,
      Plane plane,
      List<Resource> resources,
      PrometheusMeterRegistry metrics)
      throws IOException {
    SecurityFiles files = new SecurityFiles(security, metrics);
    Protection.show(listen, security, metrics);
    Contract contract = Checked.CONTRACT;
    OpenAPIContract api = Checked.API;
    Vertx vertx =
        Vertx.vertx(
            new VertxOptions()
                .setEventLoopPoolSize(1)
                .setWorkerPoolSize(WORKERS)
                .setFileSystemOptions(new FileSystemOptions().setClassPathResolvingEnabled(false)));
    try {
      HttpServerOptions options =
          new HttpServerOptions()
              .setHttp2ClearTextEnabled(false)
              .setMaxInitialLineLength(WireCheck.LINE_MAX)
              .setMaxHeaderSize(WireCheck.HEADERS_MAX)
              .setIdleTimeout(IDLE_SECONDS)
              .setIdleTimeoutUnit(TimeUnit.SECONDS);
      files.protect(options);
      WireCheck.register(metrics);
      Forward forward = new Forward(vertx, contract, api, plane, listen, security, metrics);
      Access access =
          new Access(contract, api, files::callers, metrics, new LogLimit(System::nanoTime));
      HostNames hosts = new HostNames(listen, security.hosts(), metrics);
      Origins origins = new Origins();
      Connections connections =
          new Connections(Connections.MOST, Connections.MOST_OF_ADDRESS, metrics);
      Console console = Console.load(origins::known);
      Router router =
          router(vertx, contract, api, access, forward, plane, resources, origins, metrics);
      HttpServer http =
          join(
              vertx
                  .createHttpServer(options)
                  .requestHandler(
                      request -> {
                        ProtectiveHeaders.set(request.response());
                        if (!hosts.answers(request)
                            && !console.answers(request)
                            && !origins.answers(request)) {
                          router.handle(request);
                        }
                      })
                  .connectionHandler(
                      connection -> {
                        WireCheck.check(connection, metrics);
                        connections.take(connection);
                      })
                  .invalidRequestHandler(Failures::invalidRequest)
                  .listen(listen.port(), listen.host()));
      long looks = files.watch(vertx, http);
      Runnable timers =
          () -> {
            vertx.cancelTimer(looks);
            origins.close(vertx);
          };
      Endpoint open = new Endpoint(listen.host(), http.actualPort());
      return new ApiServer(vertx, http, resources, timers, open, security.tls().isPresent());
    } catch (CompletionException e) {
      join(vertx.close());
      throw new IOException(
          "cannot listen on %s: %s".formatted(listen, e.getCause().getMessage()), e.getCause());
    }
  }

  /**
   * The contract in Vert.x's form. To check it, Vert.x copies schemas from its jar into the
   * temporary folder, where they would remain if this process were killed. A separate instance does
   * this; it is closed at once, which deletes the copies.
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
      Access access,
      Forward forward,
      Plane plane,
      List<Resource> resources,
      Origins origins,
      PrometheusMeterRegistry metrics) {
    PlatformHandler measure = new RequestMetrics(api, metrics)::handle;
    PlatformHandler guard = new Guard(contract, api)::handle;
    Bodies bodies = new Bodies(vertx, contract, api);
    RouterBuilder builder =
        RouterBuilder.create(vertx, api, RequestExtractor.withBodyHandler())
            .rootHandler(measure)
            .rootHandler((PlatformHandler) access::handle)
            .rootHandler(guard)
            .rootHandler(new Intake(contract, api, metrics)::handle)
            .rootHandler(forward::handle)
            .rootHandler(bodies::check);
    Routes routes = new Routes(vertx, builder, contract, plane, access, origins, metrics);
    resources.forEach(resource -> resource.register(routes));
    Answer document = Answer.ok("application/json", contract.document().toBuffer());
    routes.immediate("getContract", () -> document);
    Failures failures = new Failures(vertx, contract, api);
    builder.getRoutes().forEach(route -> route.addFailureHandler(failures::handleOperation));
    Router router = builder.createRouter();
    IntStream.range(400, 600)
        .forEach(
            status -> router.errorHandler(status, context -> failures.handle(context, status)));
    return router;
  }

  /** The address on which it listens, with the actual port. */
  public Endpoint listen() {
    return listen;
  }

  /**
   * The URL by which others reach it.
   *
   * @param advertised the address if it differs from the one on which it listens; port 0 means the
   *     actual port
   */
  public URI url(Optional<Endpoint> advertised) {
    Endpoint at = advertised.orElse(listen);
    int port = at.port() == 0 ? listen.port() : at.port();
    return URI.create((isTls ? "https://" : "http://") + new Endpoint(at.host(), port));
  }

  /** Stops accepting, lets requests in progress finish for a moment, and stops its threads. */
  @Override
  public void close() {
    List<Future<Void>> quiet = resources.stream().map(Resource::close).toList();
    join(http.shutdown(CLOSE_SECONDS, TimeUnit.SECONDS));
    quiet.forEach(ApiServer::join);
    timers.run();
    join(vertx.close());
  }

  private static <T> T join(Future<T> future) {
    return future.toCompletionStage().toCompletableFuture().join();
  }
}
