// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/** The state of a client's connection to its store. */
public enum Connection {
  CONNECTED,
  /** As connected; changes in the meantime may have gone unnoticed. */
  RECONNECTED,
  /** No connection; the session may still be alive. */
  SUSPENDED,
  /** No connection, and the session has ended. */
  LOST;

  public boolean isConnected() {
    return this == CONNECTED || this == RECONNECTED;
  }
}
