// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.plane.Refusal;
import org.apache.curator.framework.state.ConnectionState;

/** Why a controller can do nothing for a request at this moment. */
final class Unavailable {
  private static final String NO_CONNECTION = "has no connection with ZooKeeper";

  private Unavailable() {}

  static Refusal notLoaded(ConnectionState connection) {
    return of(
        "controller",
        connection.isConnected() ? "has not read all services yet" : NO_CONNECTION,
        "to try again in a moment");
  }

  static Refusal notLeading(ConnectionState connection) {
    return of(
        "controller",
        connection.isConnected() ? "does not lead" : NO_CONNECTION,
        "the controller that leads");
  }

  static Refusal notConfirmed() {
    return of(
        "zookeeper",
        "does not tell what was committed last",
        "to try again, or to read what is known without Cache-Control: no-cache");
  }

  private static Refusal of(String field, String value, String allowed) {
    return new Refusal(Refusal.Kind.UNAVAILABLE, field, value, allowed);
  }
}
