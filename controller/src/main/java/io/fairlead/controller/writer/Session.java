// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The state of the connection with ZooKeeper; logs when it is made and when it is lost. */
final class Session implements ConnectionStateListener {
  private static final Logger LOG = LoggerFactory.getLogger(Session.class);

  private final String connectString;
  private volatile ConnectionState state = ConnectionState.LOST;

  Session(String connectString) {
    this.connectString = connectString;
  }

  @Override
  public void stateChanged(CuratorFramework client, ConnectionState newState) {
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

  /** As in {@link io.fairlead.controller.plane.Health}. */
  String word() {
    return switch (state) {
      case CONNECTED, RECONNECTED, READ_ONLY -> "connected";
      case SUSPENDED -> "suspended";
      case LOST -> "lost";
    };
  }
}
