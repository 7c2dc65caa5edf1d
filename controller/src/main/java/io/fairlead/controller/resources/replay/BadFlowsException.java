// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import java.io.IOException;

/** A file of flows that cannot be read: where, what is there, and what is allowed. */
public final class BadFlowsException extends IOException {
  BadFlowsException(String where, String what, String allowed) {
    super("%s: %s; allowed: %s".formatted(where, what, allowed));
  }

  static BadFlowsException at(long offset, String what, String allowed) {
    return new BadFlowsException("offset " + offset, what, allowed);
  }
}
