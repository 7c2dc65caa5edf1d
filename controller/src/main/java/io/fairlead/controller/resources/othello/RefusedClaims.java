// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.steering.othello.Claims.Outcome;

/**
 * Claims of connections that were refused.
 *
 * @param implausible their packets never went to the server
 * @param contested another server has the connection, and its packets are sent to that one
 */
public record RefusedClaims(long implausible, long contested) {
  static final RefusedClaims NONE = new RefusedClaims(0, 0);

  RefusedClaims plus(Outcome outcome) {
    return switch (outcome) {
      case IMPLAUSIBLE -> new RefusedClaims(implausible + 1, contested);
      case CONTESTED -> new RefusedClaims(implausible, contested + 1);
      case ADDED, KNOWN, TAKEN -> this;
    };
  }

  RefusedClaims plus(RefusedClaims more) {
    return new RefusedClaims(implausible + more.implausible, contested + more.contested);
  }
}
