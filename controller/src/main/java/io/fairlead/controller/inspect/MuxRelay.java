// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.inspect;

import io.fairlead.controller.muxes.MetricsUrl;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.plane.Refusal;
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
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Asks a mux for its caller and passes the answer on as it arrives, without keeping it. Where a mux
 * is comes from its node in ZooKeeper. The token goes to muxes that speak TLS alone, so that
 * whoever can write such a node does not get it without a certificate as well.
 */
final class MuxRelay {
  private static final int CONNECT_MILLIS = 3000;

  /** A mux that samples packets writes statistics each second, even if none comes. */
  private static final int SILENT_SECONDS = 15;

  private static final int OK = 200;

  private final MuxAccess access;
  private final HttpClient client;

  MuxRelay(Vertx vertx, MuxAccess access) {
    this.access = access;
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

  /**
   * @param path with its query, as the mux has it
   */
  void pass(RoutingContext context, MuxView mux, String path) {
    MetricsUrl at =
        mux.metrics()
            .orElseThrow(
                () ->
                    Refusal.conflict(
                        "id",
                        mux.id(),
                        "a mux whose --http is an address that the controllers reach"));
    RequestOptions options =
        new RequestOptions()
            .setMethod(HttpMethod.GET)
            .setAbsoluteURI("%s://%s%s".formatted(at.scheme(), at.target(), path));
    if (at.scheme().equals("https")) {
      access.bearer().ifPresent(token -> options.putHeader("Authorization", "Bearer " + token));
    }
    client
        .request(options)
        .compose(HttpClientRequest::send)
        .onSuccess(answer -> answered(context, mux, answer))
        .onFailure(
            e -> context.fail(unavailable(mux, "cannot be reached at " + at + ": " + text(e))));
  }

  private static void answered(RoutingContext context, MuxView mux, HttpClientResponse answer) {
    if (answer.statusCode() != OK) {
      answer
          .body()
          .onSuccess(body -> context.fail(refusal(mux, answer.statusCode(), body)))
          .onFailure(e -> context.fail(unavailable(mux, "did not end its answer: " + text(e))));
      return;
    }
    HttpServerResponse response = context.response();
    response.setChunked(true).putHeader("Cache-Control", "no-store");
    Optional.ofNullable(answer.getHeader("Content-Type"))
        .ifPresent(type -> response.putHeader("Content-Type", type));
    response.closeHandler(gone -> answer.request().reset());
    answer
        .pipeTo(response)
        .onFailure(
            e -> {
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
    return new Refusal(
        Refusal.Kind.UNAVAILABLE, "mux", "%s %s".formatted(mux.id(), why), "to try again");
  }

  private static String text(Throwable e) {
    return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
  }
}
