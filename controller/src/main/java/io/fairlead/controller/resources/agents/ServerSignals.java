// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import java.time.Duration;
import java.util.Optional;

/**
 * How connections fare on the servers of backends, as their agents report it to the leader.
 * Thread-safe; no call waits.
 */
public interface ServerSignals {
  /** Of a controller that hears no agent. */
  ServerSignals NONE = (service, backend) -> Optional.empty();

  /**
   * @param counts since this controller leads and hears of the service there; they never fall while
   *     the backend stands at its address, also if the agent starts again. The first report brings
   *     what its agent had counted before. Compare two by {@link SignalCounts#since}.
   * @param age of the report, since it was received
   */
  record Signals(SignalCounts counts, Duration age) {}

  /**
   * Empty is unknown, as in {@link LiveConnections}, or the agent does not report signals. If the
   * server is two backends of the service, the counts of both are those of the server.
   */
  Optional<Signals> signals(String service, int backend);
}
