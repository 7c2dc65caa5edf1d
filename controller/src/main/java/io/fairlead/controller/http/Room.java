// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.ext.web.RoutingContext;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * How much callers have of something of which there is only so much, such as bytes or connections.
 * A caller at one address has at most a quarter. On the event loop.
 */
final class Room {
  private static final int SHARES = 4;

  private final long most;
  private final Map<String, Long> ofCallers = new HashMap<>();
  private long used;

  Room(long most) {
    this.most = most;
  }

  static String caller(RoutingContext context) {
    return "%s at %s"
        .formatted(Access.caller(context), context.request().remoteAddress().hostAddress());
  }

  long most() {
    return most;
  }

  long share() {
    return most / SHARES;
  }

  long used() {
    return used;
  }

  long of(String caller) {
    return ofCallers.getOrDefault(caller, 0L);
  }

  /** Whether a caller would have more than its share. */
  boolean isBeyondShare(String caller, long more) {
    return of(caller) + more > share();
  }

  boolean isFull(long more) {
    return used + more > most;
  }

  /** One, until the response has ended or cannot. */
  void hold(RoutingContext context) {
    String caller = caller(context);
    add(caller, 1);
    AtomicBoolean isHeld = new AtomicBoolean(true);
    context.addEndHandler(
        ended -> {
          if (isHeld.getAndSet(false)) { // it may be called for an error and then for the end
            add(caller, -1);
          }
        });
  }

  /**
   * @param more negative: it gives so much back
   */
  void add(String caller, long more) {
    used += more;
    if (ofCallers.merge(caller, more, Long::sum) == 0) {
      ofCallers.remove(caller);
    }
  }
}
