// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.events;

import io.fairlead.controller.http.Routes;
import io.fairlead.controller.resources.events.EventLog.Event;
import io.fairlead.controller.resources.events.EventLog.State;
import io.fairlead.controller.resources.plane.Refusal;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.AsyncResult;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.RoutingContext;
import java.security.SecureRandom;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Clients of {@code /v1/events}: the {@link EventLog} as server-sent events (HTML, section 9.2).
 *
 * <p>A client has no queue of its own but a position in the log and what the socket buffers. One
 * that is {@link #BEHIND_MAX} events behind is cut off and counted; it comes back with the id of
 * the last event that it has, or reads everything again. One whose token is gone is ended.
 *
 * <p>The state is read on a worker; all else happens on one event loop.
 */
final class EventStreams {
  static final int BEHIND_MAX = 1000;
  static final int QUEUE_BYTES = 64 * 1024;

  private static final Logger LOG = LoggerFactory.getLogger(EventStreams.class);
  private static final int AT_ONCE = 100;
  private static final long LOOK_MILLIS = 100;
  private static final long HEARTBEAT_MILLIS = 15_000;

  private final Routes routes;
  private final UnaryOperator<State> look;
  private final Context loop;
  private final EventLog log = new EventLog(new SecureRandom());
  private final Set<Client> clients = ConcurrentHashMap.newKeySet();
  private final Counter dropped;
  private final Promise<Void> ended = Promise.promise();

  /** Those below belong to the loop. */
  private long lookTimer;

  private long heartbeatTimer;
  private boolean isLooking;
  private boolean isClosed;

  private static final class Client {
    private final RoutingContext context;
    private final HttpServerResponse response;
    private long next;

    Client(RoutingContext context, long next) {
      this.context = context;
      this.response = context.response();
      this.next = next;
    }
  }

  /**
   * @param look the state now, given the one before; runs on a worker
   */
  EventStreams(Routes routes, UnaryOperator<State> look) {
    Vertx vertx = routes.vertx();
    MeterRegistry metrics = routes.metrics();
    this.routes = routes;
    this.look = look;
    this.loop = vertx.getOrCreateContext();
    this.dropped =
        Counter.builder("fairlead.controller.event.clients.dropped")
            .description(
                "Clients of /v1/events that were disconnected because they read too slowly")
            .register(metrics);
    Gauge.builder("fairlead.controller.event.clients", clients, Set::size)
        .description("Clients of /v1/events")
        .register(metrics);
    loop.runOnContext(
        now -> {
          lookTimer = vertx.setPeriodic(LOOK_MILLIS, tick -> look());
          heartbeatTimer = vertx.setPeriodic(HEARTBEAT_MILLIS, tick -> beat());
        });
  }

  void handle(RoutingContext context) {
    loop.runOnContext(
        now -> {
          if (!log.hasState()) {
            // Changes before the state is first read would be missed.
            loop.owner().setTimer(LOOK_MILLIS, later -> handle(context));
            return;
          }
          try {
            open(context);
          } catch (Refusal e) {
            context.fail(e);
          }
        });
  }

  private void open(RoutingContext context) {
    if (context.response().closed()) {
      return; // its end is told no more
    }
    if (isClosed) {
      throw Refusal.unavailable("controller", "is ending", "another controller");
    }
    Optional<Long> resumed =
        Optional.ofNullable(context.request().getHeader("Last-Event-ID")).flatMap(log::after);
    HttpServerResponse response = context.response();
    response
        .setChunked(true)
        .setWriteQueueMaxSize(QUEUE_BYTES)
        .putHeader("Content-Type", "text/event-stream")
        .putHeader("Cache-Control", "no-store");
    Client client = new Client(context, resumed.orElse(log.next()));
    clients.add(client);
    context.addEndHandler(gone -> clients.remove(client));
    response.drainHandler(drained -> pump(client));
    String start = "{\"resumed\":%b}".formatted(resumed.isPresent());
    response.write(text(new Event(client.next - 1, "start", start)));
    pump(client);
  }

  private void look() {
    if (isLooking || isClosed) {
      return;
    }
    isLooking = true;
    State before = log.state();
    loop.executeBlocking(() -> look.apply(before), false).onComplete(this::looked);
  }

  private void looked(AsyncResult<State> done) {
    isLooking = false;
    if (isClosed) {
      ended.tryComplete();
    } else if (done.succeeded()) {
      log.advance(done.result());
      List.copyOf(clients).forEach(this::tell);
    } else {
      LOG.error("events: the state cannot be read", done.cause());
    }
  }

  private void tell(Client client) {
    if (routes.isStillAllowed(client.context)) {
      pump(client);
    } else if (clients.remove(client)) {
      client.response.end();
    }
  }

  /** Writes what the socket takes; the rest when it has drained. */
  private void pump(Client client) {
    if (log.next() - client.next > BEHIND_MAX) {
      drop(client);
      return;
    }
    while (!client.response.writeQueueFull() && !client.response.closed()) {
      List<Event> some = log.from(client.next, AT_ONCE);
      if (some.isEmpty()) {
        return;
      }
      StringBuilder text = new StringBuilder();
      some.forEach(event -> text.append(text(event)));
      client.response.write(text.toString());
      client.next += some.size();
    }
  }

  private void drop(Client client) {
    if (clients.remove(client)) {
      dropped.increment();
      client.response.reset();
    }
  }

  private void beat() {
    for (Client client : List.copyOf(clients)) {
      if (!client.response.writeQueueFull()) {
        client.response.write(":\n\n");
      }
    }
  }

  private String text(Event event) {
    return "id: %s\nevent: %s\ndata: %s\n\n"
        .formatted(log.id(event.number()), event.type(), event.data());
  }

  /**
   * Ends every stream, so that the server need not wait for them. Completes once nothing runs any
   * more that needs the event loop: it may be ended then.
   */
  Future<Void> close() {
    loop.runOnContext(
        now -> {
          isClosed = true;
          loop.owner().cancelTimer(lookTimer);
          loop.owner().cancelTimer(heartbeatTimer);
          List.copyOf(clients).forEach(client -> client.response.end());
          if (!isLooking) {
            ended.tryComplete();
          }
        });
    return ended.future();
  }
}
