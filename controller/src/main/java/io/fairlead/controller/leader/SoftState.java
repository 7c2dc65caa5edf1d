// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.resources.agents.Agents;
import io.fairlead.controller.resources.agents.ConnectionReports;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.stages.StageGate;

/** What agents and muxes have told a controller in its role: in memory only. */
public record SoftState(
    AgentReports reports,
    SettledServices settled,
    DrainWatch drains,
    StageGate stages,
    Agents agents) {
  static SoftState of(
      Plane plane, AgentReports reports, SettledServices settled, ConnectionReports connections) {
    return new SoftState(
        reports,
        settled,
        new DrainWatch(reports, settled, System::nanoTime),
        new StageGate(reports, reports),
        new Agents(plane, reports, connections));
  }

  /** That of a follower, who hears nothing. */
  static SoftState none(Plane plane) {
    return of(plane, AgentReports.none(), SettledServices.none(), ConnectionReports.NONE);
  }
}
