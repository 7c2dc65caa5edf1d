// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import java.util.Optional;

/**
 * Signals of a service on a server.
 *
 * @param told by the latest report, since its agent began to count
 * @param all of all reports
 * @param latest since the report before
 */
record Signaled(SignalCounts told, SignalCounts all, SignalCounts latest) {
  /**
   * What follows from a report.
   *
   * @param before what was known before it
   * @param isSameBoot whether the agent is the one that reported before
   */
  static Signaled of(SignalCounts told, Optional<Signaled> before, boolean isSameBoot) {
    SignalCounts latest =
        before.filter(any -> isSameBoot).map(last -> told.since(last.told())).orElse(told);
    return new Signaled(told, before.map(last -> last.all().plus(latest)).orElse(told), latest);
  }
}
