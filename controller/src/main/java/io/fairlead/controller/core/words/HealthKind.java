// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

/** How a backend is probed. */
public enum HealthKind implements Word {
  /** Its kernel answers for a process that listens. */
  TCP,
  HTTP,
  HTTPS,
  /** A datagram that is answered. */
  UDP,
  /** A program on the mux's host ends with code 0. */
  COMMAND;

  public boolean isHttp() {
    return this == HTTP || this == HTTPS;
  }

  /** Whether each of a service's ports of this protocol is probed. */
  public boolean isFor(String protocol) {
    return this == COMMAND || protocol.equals(this == UDP ? "udp" : "tcp");
  }

  @Override
  public String toString() {
    return word();
  }
}
