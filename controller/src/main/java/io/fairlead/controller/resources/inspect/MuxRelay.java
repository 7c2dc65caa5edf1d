// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.inspect;

import io.fairlead.controller.resources.muxes.MetricsUrl;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.plane.Refusal;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.ext.web.RoutingContext;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks a mux for its caller and passes the answer on as it arrives, without keeping it. Where a mux
 * is comes from its node in ZooKeeper, so {@link MetricsUrl#isAt} binds it to the mux's address,
 * and path and media type are ours. The token goes to muxes that speak TLS alone, by a certificate
 * of {@code --muxes-ca}.
 */
final class MuxRelay {
  private static final Logger LOG = LoggerFactory.getLogger(MuxRelay.class);
  private static final int CONNECT_MILLIS = 3000;

  /** A mux that samples packets writes statistics each second, even if none comes. */
  private static final int SILENT_SECONDS = 15;

  private static final int OK = 200;
  private static final int PROBLEM_BYTES = 64 << 10;

  /**
   * What is asked of a mux, and how much it may answer.
   *
   * @param path with its query, as the mux has it
   * @param mediaType of the answer, whatever the mux says that it is
   * @param seconds within which the answer ends
   */
  record Ask(String path, String mediaType, long bytes, int seconds) {}

  private final Vertx vertx;
  private final MuxAccess access;
  private final MeterRegistry metrics;
  private final HttpClient client;

  MuxRelay(Vertx vertx, MuxAccess access, MeterRegistry metrics) {
    this.vertx = vertx;
    this.access = access;
    this.metrics = metrics;
    HttpClientOptions options =
        new HttpClientOptions()
            .setConnectTimeout(CONNECT_MILLIS)
            .setReadIdleTimeout(SILENT_SECONDS)
            .setIdleTimeoutUnit(TimeUnit.SECONDS);
    access
        .authorities()
        .ifPresent(
            path -> options.setTrustOptions(new PemTrustOptions().addCertPath(path.toString())));
    client = vertx.createHttpClient(options);
  }

  void pass(RoutingContext context, MuxView mux, Ask ask) {
    MetricsUrl at =
        mux.metrics()
            .orElseThrow(
                () ->
                    Refusal.conflict(
                        "id",
                        mux.id(),
                        "a mux whose --http is at its own address, or at all of its host's, and"
                            + " reached from the controllers"));
    RequestOptions options =
        new RequestOptions()
            .setMethod(HttpMethod.GET)
            .setFollowRedirects(false)
            .setConnectTimeout(CONNECT_MILLIS)
            .setAbsoluteURI("%s://%s%s".formatted(at.scheme(), at.target(), ask.path()));
    if (at.scheme().equals("https")) {
      access.bearer().ifPresent(token -> options.putHeader("Authorization", "Bearer " + token));
    }
    client
        .request(options)
        .compose(HttpClientRequest::send)
        .onSuccess(answer -> answered(context, mux, ask, answer))
        .onFailure(
            e -> context.fail(unavailable(mux, "cannot be reached at " + at + ": " + text(e))));
  }

  private void answered(RoutingContext context, MuxView mux, Ask ask, HttpClientResponse answer) {
    boolean isDone = answer.statusCode() == OK;
    Bounded bounded =
        new Bounded(vertx, answer, isDone ? ask.bytes() : PROBLEM_BYTES, ask.seconds());
    if (!isDone) {
      bounded
          .whole()
          .onSuccess(body -> context.fail(refusal(mux, answer.statusCode(), body)))
          .onFailure(e -> context.fail(unavailable(mux, "did not end its answer: " + text(e))));
      return;
    }
    HttpServerResponse response = context.response();
    response
        .setChunked(true)
        .putHeader("Cache-Control", "no-store")
        .putHeader("Content-Type", ask.mediaType());
    context.addEndHandler(
        ended -> {
          if (ended.failed()) {
            answer.request().reset();
          }
        });
    bounded
        .pipeTo(response)
        .onFailure(
            e -> {
              if (e instanceof Bounded.Exceeded exceeded) {
                metrics
                    .counter("fairlead.controller.mux.answers.cut", "reason", exceeded.reason())
                    .increment();
                LOG.warn("mux '{}': its answer to {} is cut: {}", mux.id(), ask.path(), text(e));
              }
              if (!response.closed() && !response.ended()) {
                response.reset();
              }
            });
  }

  /** A mux names the field, its value and what is allowed, as the API does. */
  private static Refusal refusal(MuxView mux, int status, Buffer body) {
    JsonObject problem;
    try {
      problem = body.toJsonObject();
    } catch (DecodeException | ClassCastException e) {
      problem = new JsonObject();
    }
    Refusal.Kind kind =
        switch (status) {
          case 400 -> Refusal.Kind.INVALID;
          case 404 -> Refusal.Kind.NOT_FOUND;
          case 409 -> Refusal.Kind.CONFLICT;
          case 403 -> Refusal.Kind.FORBIDDEN;
          default -> null;
        };
    Object field = problem.getValue("field");
    if (kind == null || field == null) {
      return unavailable(
          mux,
          "answered %d%s"
              .formatted(status, status == 401 ? ": it does not know the --muxes-token" : ""));
    }
    return new Refusal(
        kind,
        String.valueOf(field),
        String.valueOf(problem.getValue("value")),
        "%s (as mux %s says)".formatted(problem.getValue("allowed"), mux.id()));
  }

  private static Refusal unavailable(MuxView mux, String why) {
    return Refusal.unavailable("mux", "%s %s".formatted(mux.id(), why), "to try again");
  }

  private static String text(Throwable e) {
    return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
  }
}
