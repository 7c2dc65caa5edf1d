// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.store.Connection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The state of the connection with ZooKeeper; logs when it is made and when it is lost. */
final class Session {
  private static final Logger LOG = LoggerFactory.getLogger(Session.class);

  private final String connectString;
  private volatile Connection state = Connection.LOST;

  Session(String connectString) {
    this.connectString = connectString;
  }

  void changed(Connection newState) {
    boolean wasConnected = state.isConnected();
    state = newState;
    if (newState.isConnected() && !wasConnected) {
      LOG.info("ZooKeeper {}: connected", connectString);
    } else if (!newState.isConnected() && wasConnected) {
      LOG.warn("ZooKeeper {}: connection lost", connectString);
    }
  }

  boolean isConnected() {
    return state.isConnected();
  }

  /** As in {@link io.fairlead.controller.resources.plane.Health}. */
  String word() {
    return switch (state) {
      case CONNECTED, RECONNECTED -> "connected";
      case SUSPENDED -> "suspended";
      case LOST -> "lost";
    };
  }
}
