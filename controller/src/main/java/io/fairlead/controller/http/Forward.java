// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.resources.plane.Health;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpClosedException;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.ext.web.RoutingContext;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Forwards writes, and reads of what only the leader knows ({@code x-leader} in the contract), to
 * the leading controller unchanged, with the caller's token, and returns its answers: the leader
 * checks everything itself. A request is forwarded only once, so that it does not loop between two
 * controllers that each take the other for the leader.
 *
 * <p>What is sent is a new request: the method, the target, the headers that the API has, and a
 * body that was received whole and within its limit, on a connection of its own. So no caller's
 * bytes decide where a request ends, and none of them can become the beginning of another caller's.
 *
 * <p>A caller has at most a quarter of the connections, whether the leader is slow to answer or it
 * is slow to read.
 *
 * <p>The leader's address comes from a node in ZooKeeper, which only controllers can write: one
 * with tokens has logins there, and follows no tree in which they are not set.
 */
final class Forward {
  /** Names the controller that forwarded a request. */
  static final String FORWARDED = "Fairlead-Forwarded-By";

  private static final Set<HttpMethod> WRITES =
      Set.of(HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH, HttpMethod.DELETE);

  /** What the leader reads of a request, besides its target and its body. */
  private static final List<String> REQUEST_HEADERS =
      List.of(
          "Authorization",
          "Accept",
          "Cache-Control",
          "Content-Encoding",
          "Content-Type",
          "Idempotency-Key",
          "If-Match",
          "If-None-Match");

  /** Of one connection (RFC 9110, section 7.6.1), or of one body on it. */
  private static final Set<String> OF_CONNECTION =
      Set.of(
          "connection",
          "content-length",
          "keep-alive",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade");

  private static final String CONTROLLER = "controller";
  private static final int CONNECT_MILLIS = 3000;

  /** Longer than the leader waits for ZooKeeper. */
  private static final int ANSWER_SECONDS = 30;

  private static final int CONNECTIONS = 128;
  private static final int QUEUE = 256;

  /** From the connection on, however steadily bytes come. */
  private static final long WHOLE_MILLIS = 60_000;

  private final Vertx vertx;
  private final Contract contract;
  private final OpenAPIContract api;
  private final Plane plane;
  private final Endpoint listen;
  private final HttpClient client;
  private final Room room = new Room(CONNECTIONS);
  private final Counter busy;

  Forward(
      Vertx vertx,
      Contract contract,
      OpenAPIContract api,
      Plane plane,
      Endpoint listen,
      Security security,
      MeterRegistry metrics) {
    this.vertx = vertx;
    this.contract = contract;
    this.api = api;
    this.plane = plane;
    this.listen = listen;
    this.busy = metrics.counter(Intake.BUSY, "limit", "forwarded");
    HttpClientOptions options =
        new HttpClientOptions()
            .setKeepAlive(false)
            .setConnectTimeout(CONNECT_MILLIS)
            .setReadIdleTimeout(ANSWER_SECONDS)
            .setIdleTimeoutUnit(TimeUnit.SECONDS);
    security
        .authorities()
        .ifPresent(
            path -> options.setTrustOptions(new PemTrustOptions().addCertPath(path.toString())));
    PoolOptions pool = new PoolOptions().setHttp1MaxSize(CONNECTIONS).setMaxWaitQueueSize(QUEUE);
    client = vertx.createHttpClient(options, pool);
  }

  void handle(RoutingContext context) {
    HttpServerRequest request = context.request();
    Health health = isForwarded(request) ? plane.health() : null;
    if (health == null || health.leader()) {
      context.next();
    } else if (!health.zookeeper().equals("connected")) {
      fail(context, "zookeeper", health.zookeeper(), "to try again; nothing was written");
    } else if (health.leaderUrl().isEmpty()) {
      fail(context, CONTROLLER, "no controller leads", "to try again; nothing was written");
    } else if (request.headers().contains(FORWARDED)) {
      fail(
          context,
          CONTROLLER,
          "does not lead, and %s forwarded the request to it"
              .formatted(request.getHeader(FORWARDED)),
          "to try again; nothing was written");
    } else if (Access.isByCertificate(context)) {
      fail(
          context,
          CONTROLLER,
          "does not lead, and cannot show the caller's certificate to the controller that does",
          "a token, or to send the request to the leader itself at " + health.leaderUrl().get());
    } else if (room.isBeyondShare(Room.caller(context), 1)) {
      busy.increment();
      fail(
          context,
          CONTROLLER,
          "does not lead, and forwards %d requests of %s already"
              .formatted(room.share(), Room.caller(context)),
          "%d of a caller at one address at a time; to try again; nothing was written"
              .formatted(room.share()));
    } else {
      forward(context, health.leaderUrl().get());
    }
  }

  private boolean isForwarded(HttpServerRequest request) {
    if (WRITES.contains(request.method())) {
      return true;
    }
    Operation operation = api.findOperation(request.path(), request.method());
    return operation != null && contract.isOfLeader(operation);
  }

  private void forward(RoutingContext context, URI leader) {
    HttpServerRequest request = context.request();
    RequestOptions options =
        new RequestOptions()
            .setMethod(request.method())
            .setAbsoluteURI(leader + request.uri())
            .setConnectTimeout(CONNECT_MILLIS);
    String caller = Room.caller(context);
    room.add(caller, 1);
    Future<Void> forwarded =
        client
            .request(options)
            .onFailure(
                e ->
                    fail(
                        context,
                        CONTROLLER,
                        "the leader at %s cannot be reached: %s".formatted(leader, e.getMessage()),
                        "to try again; nothing was written"))
            .compose(to -> send(context, leader, to))
            .onComplete(done -> room.add(caller, -1));
    Intake.during(context, forwarded);
  }

  private Future<Void> send(RoutingContext context, URI leader, HttpClientRequest to) {
    if (context.response().closed()) {
      to.reset();
      return Future.succeededFuture(); // the caller has gone, and nothing was sent
    }
    MultiMap headers = context.request().headers();
    for (String name : REQUEST_HEADERS) {
      if (headers.contains(name)) {
        to.headers().set(name, headers.getAll(name));
      }
    }
    to.putHeader(FORWARDED, listen.toString());
    Buffer body = context.body().buffer();
    long timer = vertx.setTimer(WHOLE_MILLIS, late -> to.reset());
    return to.send(body == null ? Buffer.buffer() : body)
        .compose(answer -> back(context.response(), answer))
        .onComplete(done -> vertx.cancelTimer(timer))
        .onFailure(
            e -> {
              to.reset(); // the caller has gone
              if (context.response().headWritten()) {
                context.response().reset(); // so that the caller does not take it for whole
                return;
              }
              fail(
                  context,
                  CONTROLLER,
                  "the leader at %s did not answer: %s".formatted(leader, why(e)),
                  "to send it again under the same Idempotency-Key, or to check whether it was"
                      + " written");
            });
  }

  private static String why(Throwable e) {
    return e instanceof HttpClosedException
        ? "the connection was closed, or silent for %d s".formatted(ANSWER_SECONDS)
        : e.getMessage();
  }

  private static Future<Void> back(HttpServerResponse response, HttpClientResponse answer) {
    response.setStatusCode(answer.statusCode()).setChunked(true);
    List<String> named =
        answer.headers().getAll("Connection").stream()
            .flatMap(each -> Stream.of(each.toLowerCase(Locale.ROOT).split(",")).map(String::strip))
            .toList();
    for (String name : answer.headers().names()) {
      String lower = name.toLowerCase(Locale.ROOT);
      if (!OF_CONNECTION.contains(lower) && !named.contains(lower)) {
        response.headers().set(name, answer.headers().getAll(name));
      }
    }
    ProtectiveHeaders.set(response);
    return answer
        .pipe()
        .endOnFailure(false)
        .to(response)
        .onFailure(
            e -> {
              if (!response.headWritten()) {
                answer.headers().names().forEach(response.headers()::remove);
                ProtectiveHeaders.set(response.setChunked(false));
              }
            });
  }

  private static void fail(RoutingContext context, String field, String why, String allowed) {
    Failures.send(context, Problem.of(Refusal.unavailable(field, why, allowed)));
  }
}
