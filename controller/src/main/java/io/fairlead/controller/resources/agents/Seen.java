// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import io.fairlead.controller.resources.agents.AgentReports.Heard;
import java.time.Duration;
import java.util.Optional;

/**
 * What is known of an agent.
 *
 * @param service what it said of the service asked for; empty if it said nothing or counts for
 *     another state of the services
 */
public record Seen(
    Duration age,
    String version,
    String mode,
    long lostEvents,
    Optional<Report.Form> form,
    Optional<Heard> service) {
  public boolean isSilent() {
    return age.compareTo(LiveConnections.SILENCE) > 0;
  }
}
