// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.core.Vertx;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the other controllers of the cluster are reached. A console that one of them served may
 * call this API when that one is gone, and the console that this one serves may call theirs;
 * browsers ask for that (CORS). Pages from anywhere else may not: without tokens, whoever can reach
 * this port could otherwise be used by any page that he visits.
 *
 * <p>Controllers are remembered after their end, which is when it matters. Used on the event loop.
 */
final class Origins {
  private static final Logger LOG = LoggerFactory.getLogger(Origins.class);
  private static final int REMEMBERED_MAX = 32;
  private static final long FIRST_MILLIS = 1000;
  private static final long PERIOD_MILLIS = 5000;
  private static final int NO_CONTENT = 204;

  /** Nothing that could end a source of a Content-Security-Policy, where the text goes. */
  private static final Pattern ORIGIN =
      Pattern.compile("https?://([A-Za-z0-9._-]{1,253}|\\[[0-9A-Fa-f:.]{2,45}])(:[0-9]{1,5})?");

  private static final Pattern DEFAULT_PORT =
      Pattern.compile("^(http://.*):80$|^(https://.*):443$");

  private final Set<String> known = new LinkedHashSet<>();
  private boolean isFailing;
  private volatile OptionalLong timer = OptionalLong.empty();

  /**
   * Learns them in a moment, when the client of ZooKeeper has been started, and every few seconds.
   *
   * @param live URLs without a path of those that run; may wait for ZooKeeper
   */
  void follow(Vertx vertx, Supplier<List<String>> live) {
    timer =
        OptionalLong.of(
            vertx.setPeriodic(FIRST_MILLIS, PERIOD_MILLIS, now -> refresh(vertx, live)));
  }

  /** Learns no more; before the threads end. */
  void close(Vertx vertx) {
    timer.ifPresent(vertx::cancelTimer);
  }

  private void refresh(Vertx vertx, Supplier<List<String>> live) {
    vertx
        .executeBlocking(live::get, false)
        .onSuccess(
            urls -> {
              isFailing = false;
              learn(urls);
            })
        .onFailure(
            e -> {
              if (!isFailing) {
                LOG.warn("the other controllers are unknown for now: {}", e.getMessage());
              }
              isFailing = true;
            });
  }

  void learn(List<String> urls) {
    for (String url : urls) {
      String origin = DEFAULT_PORT.matcher(url).replaceFirst("$1$2");
      if (ORIGIN.matcher(origin).matches()) {
        known.remove(origin);
        known.add(origin);
      }
    }
    List<String> oldest = new ArrayList<>(known);
    oldest.subList(0, Math.max(0, known.size() - REMEMBERED_MAX)).forEach(known::remove);
  }

  /** As browsers write them in the header Origin. */
  List<String> known() {
    return List.copyOf(known);
  }

  /**
   * Says in the answer that a page of another controller may read it. Whether the request was a
   * browser's question if it may ask: then it is answered.
   */
  boolean answers(HttpServerRequest request) {
    String origin = request.getHeader("Origin");
    if (origin == null || !known.contains(origin)) {
      return false;
    }
    HttpServerResponse response =
        request
            .response()
            .putHeader("Access-Control-Allow-Origin", origin)
            .putHeader("Vary", "Origin")
            .putHeader(
                "Access-Control-Expose-Headers", "ETag, Link, Retry-After, Idempotency-Replayed");
    if (request.method() != HttpMethod.OPTIONS
        || !request.headers().contains("Access-Control-Request-Method")) {
      return false;
    }
    response
        .putHeader("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
        .putHeader(
            "Access-Control-Allow-Headers",
            "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID")
        .putHeader("Access-Control-Max-Age", "600")
        .setStatusCode(NO_CONTENT)
        .end();
    return true;
  }
}
