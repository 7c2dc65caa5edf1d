// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.resources.plane.Refusal;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClosedException;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.impl.RoutingContextInternal;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Receives bodies, and bounds what callers can make a controller hold: each byte counts from its
 * arrival until the work on its request has ended, which may be after its caller has gone. A caller
 * at one address has a quarter of the room. {@link WireCheck} limits the time until a body has come
 * whole. There may be thousands of agents, each on a server that may be hostile: of them also one
 * report of a server at a time, if they show which one they are of, and {@link #REPORTS_MAX} in
 * all. All on the event loop.
 */
final class Intake {
  static final int REPORTS_MAX = 1024;
  static final long REPORTS_BYTES = 64 << 20;
  static final long OTHERS_BYTES = 32 << 20;

  static final String BUSY = "fairlead.controller.http.busy";
  private static final String ABANDONED = "fairlead.controller.http.abandoned";
  private static final String HOLD = Intake.class.getName();
  private static final String LENGTH = "Content-Length";
  private static final int TOO_LARGE = 413;
  private static final int INVALID = 400;

  private final Contract contract;
  private final OpenAPIContract api;
  private final MeterRegistry metrics;
  private final Set<Set<Address>> senders = new HashSet<>();
  private int reports;
  private final Room ofReports = new Room(REPORTS_BYTES);
  private final Room ofOthers = new Room(OTHERS_BYTES);

  private enum Reason {
    SERVER,
    REPORTS,
    CALLER,
    BYTES
  }

  /** What one request holds until its response has ended or is closed, and no work is left. */
  private final class Hold {
    final Room room;
    final String caller;
    final Optional<Set<Address>> sender;
    final boolean isReport;
    Buffer body = Buffer.buffer();
    int works;
    boolean isReleased;
    boolean isRouted;
    boolean isEnded;
    boolean isRefused;

    Hold(RoutingContext context, boolean isReport, Optional<Set<Address>> sender) {
      this.room = isReport ? ofReports : ofOthers;
      this.caller = Room.caller(context);
      this.sender = sender;
      this.isReport = isReport;
      sender.ifPresent(senders::add);
      reports += isReport ? 1 : 0;
    }

    void routed() {
      isRouted = true;
      release();
    }

    void end() {
      isEnded = true;
      release();
    }

    private void release() {
      if (isEnded && isRouted && works == 0 && !isReleased) {
        isReleased = true;
        sender.ifPresent(senders::remove);
        reports -= isReport ? 1 : 0;
        room.add(caller, -body.length());
        body = Buffer.buffer(); // the rest of one that was refused may still be coming
      }
    }
  }

  Intake(Contract contract, OpenAPIContract api, MeterRegistry metrics) {
    this.contract = contract;
    this.api = api;
    this.metrics = metrics;
    metrics.counter(ABANDONED);
    for (Reason reason : Reason.values()) {
      count(reason, 0);
    }
  }

  void handle(RoutingContext context) {
    HttpServerRequest request = context.request();
    Operation operation = api.findOperation(request.path(), request.method());
    boolean isReport = contract.isOfAgents(operation);
    int most = contract.bodyLimit(operation);
    Optional<Set<Address>> sender =
        isReport ? Access.sender(context).addresses() : Optional.empty();
    if (request.headers().contains(LENGTH) && Long.parseLong(request.getHeader(LENGTH)) > most) {
      refuseLength(context, request.getHeader(LENGTH), most);
    } else if (sender.filter(senders::contains).isPresent()) {
      refuse(context, Reason.SERVER, "another report of the server is in flight", "one at a time");
    } else if (isReport && reports >= REPORTS_MAX) {
      refuse(
          context,
          Reason.REPORTS,
          "%d reports are in flight".formatted(REPORTS_MAX),
          REPORTS_MAX + " at a time");
    } else {
      Hold hold = new Hold(context, isReport, sender);
      context.put(HOLD, hold);
      context.addEndHandler(
          answered -> {
            if (answered.succeeded() || !request.isEnded()) {
              hold.isRouted = true; // no work on it has begun, and none will
            }
            hold.end();
          });
      receive(context, hold, most);
    }
  }

  private void receive(RoutingContext context, Hold hold, int most) {
    HttpServerRequest request = context.request();
    ((RoutingContextInternal) context).visitHandler(RoutingContextInternal.BODY_HANDLER);
    request.exceptionHandler(e -> context.fail(INVALID, e));
    request.handler(part -> take(context, hold, part, most));
    request.endHandler(
        whole -> {
          if (!hold.isRefused) {
            ((RoutingContextInternal) context).setBody(hold.body);
            context.next();
          }
        });
    if (request.headers().contains("Expect")) { // 100-continue: RequestHead allows no other
      context.response().writeContinue();
    }
    request.resume();
  }

  private void take(RoutingContext context, Hold hold, Buffer part, int most) {
    Room room = hold.room;
    if (hold.isRefused) {
      return; // the rest of it
    }
    hold.isRefused = true;
    if (hold.body.length() + part.length() > most) {
      refuseLength(context, "more than " + most, most);
    } else if (room.isBeyondShare(hold.caller, part.length())) {
      refuse(
          context,
          Reason.CALLER,
          "bodies in flight of %s have %d bytes".formatted(hold.caller, room.of(hold.caller)),
          "%d bytes of a caller at one address at a time".formatted(room.share()));
    } else if (room.isFull(part.length())) {
      refuse(
          context,
          Reason.BYTES,
          "bodies in flight have %d bytes".formatted(room.used()),
          "%d bytes at a time".formatted(room.most()));
    } else {
      hold.isRefused = false;
      hold.body.appendBuffer(part);
      room.add(hold.caller, part.length());
    }
  }

  /** Work on a request, which holds what it holds although its caller may go. */
  static <T> Future<T> during(RoutingContext context, Future<T> work) {
    Hold hold = context.get(HOLD);
    if (hold != null) {
      Context here = context.vertx().getOrCreateContext();
      hold.works++;
      hold.routed();
      work.onComplete(
          done ->
              here.runOnContext(
                  nothing -> {
                    hold.works--;
                    hold.release();
                  }));
    }
    return work;
  }

  /** No more work will begin on a request than {@link #during} knows of. */
  static void routed(RoutingContext context) {
    Hold hold = context.get(HOLD);
    if (hold != null) {
      hold.routed();
    }
  }

  /**
   * Before work begins: the caller may have gone.
   *
   * @throws HttpClosedException if the caller has gone
   */
  static void checkIsAwaited(RoutingContext context, MeterRegistry metrics)
      throws HttpClosedException {
    if (context.response().closed()) {
      metrics.counter(ABANDONED).increment();
      throw new HttpClosedException("the caller has gone before the work on its request began");
    }
  }

  private static void refuseLength(RoutingContext context, String bytes, int most) {
    if (most > 0) {
      context.fail(TOO_LARGE);
      return;
    }
    Failures.endConnection(context);
    Failures.send(
        context,
        Problem.of(
            Problem.Kind.INVALID,
            "body",
            Optional.of(bytes + " bytes"),
            "no body of this operation"));
  }

  private void refuse(RoutingContext context, Reason reason, String why, String allowed) {
    count(reason, 1);
    Failures.endConnection(context);
    Failures.send(
        context,
        Problem.of(Refusal.unavailable("body", why, allowed + "; to send it again later")));
  }

  private void count(Reason reason, int more) {
    metrics.counter(BUSY, "limit", reason.name().toLowerCase(Locale.ROOT)).increment(more);
  }
}
