// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.ring.Address;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Bounds what callers can make a controller hold, from the head of a request until it is answered:
 * of long bodies only so many bytes at a time, and each for a limited time until it has come whole.
 * There may be thousands of agents, each on a server that may be hostile: of them also one report
 * of a server at a time, if they show which one they are of, and {@link #REPORTS_MAX} in all. All
 * on the event loop.
 */
final class Intake {
  static final int REPORTS_MAX = 1024;

  /** What is shorter counts for nothing: a long body must not keep short ones out. */
  static final int SHORT = 64 << 10;

  static final long REPORTS_BYTES = 64 << 20;
  static final long OTHERS_BYTES = 32 << 20;
  static final long MILLIS_MAX = 30_000;

  private static final String BUSY = "fairlead.controller.http.busy";
  private static final String LENGTH = "Content-Length";

  private final Vertx vertx;
  private final Contract contract;
  private final OpenAPIContract api;
  private final MeterRegistry metrics;
  private final Set<Set<Address>> senders = new HashSet<>();
  private int reports;
  private final Room ofReports = new Room(REPORTS_BYTES);
  private final Room ofOthers = new Room(OTHERS_BYTES);

  /** Bytes of long bodies. */
  private static final class Room {
    final long most;
    long used;

    Room(long most) {
      this.most = most;
    }
  }

  private enum Reason {
    SERVER,
    REPORTS,
    BYTES
  }

  Intake(Vertx vertx, Contract contract, OpenAPIContract api, MeterRegistry metrics) {
    this.vertx = vertx;
    this.contract = contract;
    this.api = api;
    this.metrics = metrics;
    for (Reason reason : Reason.values()) {
      count(reason, 0);
    }
  }

  void handle(RoutingContext context) {
    HttpServerRequest request = context.request();
    Operation operation = api.findOperation(request.path(), request.method());
    boolean isReport = contract.isOfAgents(operation);
    Room room = isReport ? ofReports : ofOthers;
    long length = length(request, contract.bodyLimit(operation));
    long counted = length > SHORT ? length : 0;
    Optional<Set<Address>> sender =
        isReport ? Access.sender(context).addresses() : Optional.empty();
    if (sender.filter(senders::contains).isPresent()) {
      refuse(context, Reason.SERVER, "another report of the server is in flight", "one at a time");
    } else if (isReport && reports >= REPORTS_MAX) {
      refuse(
          context,
          Reason.REPORTS,
          "%d reports are in flight".formatted(REPORTS_MAX),
          REPORTS_MAX + " at a time");
    } else if (counted > 0 && room.used + counted > room.most) {
      refuse(
          context,
          Reason.BYTES,
          "long bodies in flight have %d bytes, this one %d".formatted(room.used, length),
          "%d bytes at a time".formatted(room.most));
    } else {
      sender.ifPresent(senders::add);
      reports += isReport ? 1 : 0;
      room.used += counted;
      long timer = vertx.setTimer(MILLIS_MAX, late -> endLate(request));
      AtomicBoolean isHeld = new AtomicBoolean(true);
      Handler<Void> release =
          end -> {
            if (isHeld.getAndSet(false)) {
              vertx.cancelTimer(timer);
              sender.ifPresent(senders::remove);
              reports -= isReport ? 1 : 0;
              room.used -= counted;
            }
          };
      context.addEndHandler(answered -> release.handle(null));
      request.connection().closeHandler(release); // which may be before it can be answered
      context.next();
    }
  }

  private static void endLate(HttpServerRequest request) {
    if (!request.isEnded()) {
      request.connection().close();
    }
  }

  /** As announced, or as long as it can become. */
  private static long length(HttpServerRequest request, int most) {
    if (request.headers().contains(LENGTH)) {
      return Math.min(most, Long.parseLong(request.getHeader(LENGTH)));
    }
    return request.headers().contains("Transfer-Encoding") ? most : 0;
  }

  private void refuse(RoutingContext context, Reason reason, String why, String allowed) {
    count(reason, 1);
    context.addEndHandler(sent -> context.request().connection().close());
    Failures.send(
        context,
        Problem.of(
            new Refusal(
                Refusal.Kind.UNAVAILABLE, "body", why, allowed + "; to send it again later")));
  }

  private void count(Reason reason, int more) {
    metrics.counter(BUSY, "limit", reason.name().toLowerCase(Locale.ROOT)).increment(more);
  }
}
