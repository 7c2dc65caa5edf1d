// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.agents.AgentRoutes;
import io.fairlead.controller.agents.AgentsCommand;
import io.fairlead.controller.api.Resource;
import io.fairlead.controller.audit.AuditCommand;
import io.fairlead.controller.audit.AuditRoutes;
import io.fairlead.controller.backends.BackendCommands;
import io.fairlead.controller.backends.BackendRoutes;
import io.fairlead.controller.backends.ChangesCommand;
import io.fairlead.controller.backup.BackupCommand;
import io.fairlead.controller.backup.BackupRoutes;
import io.fairlead.controller.cluster.ClusterCommands;
import io.fairlead.controller.cluster.ClusterRoutes;
import io.fairlead.controller.drains.DrainRoutes;
import io.fairlead.controller.drains.DrainsCommand;
import io.fairlead.controller.events.EventRoutes;
import io.fairlead.controller.events.EventsCommand;
import io.fairlead.controller.explain.ExplainCommand;
import io.fairlead.controller.explain.ExplainRoutes;
import io.fairlead.controller.explain.RingCommand;
import io.fairlead.controller.generations.GenerationRoutes;
import io.fairlead.controller.generations.GenerationsCommand;
import io.fairlead.controller.health.HealthCommand;
import io.fairlead.controller.health.HealthRoutes;
import io.fairlead.controller.hold.HoldsCommand;
import io.fairlead.controller.inspect.InspectRoutes;
import io.fairlead.controller.inspect.MuxAccess;
import io.fairlead.controller.manifest.ApplyCommand;
import io.fairlead.controller.manifest.DiffCommand;
import io.fairlead.controller.manifest.ExportCommand;
import io.fairlead.controller.muxes.MuxCommands;
import io.fairlead.controller.muxes.MuxRoutes;
import io.fairlead.controller.muxes.MuxesCommand;
import io.fairlead.controller.othello.OthelloCommand;
import io.fairlead.controller.othello.OthelloRoutes;
import io.fairlead.controller.overview.OverviewRoutes;
import io.fairlead.controller.plane.Plane;
import io.fairlead.controller.services.ServiceCommands;
import io.fairlead.controller.services.ServiceRoutes;
import io.fairlead.controller.support.SupportBundleCommand;
import io.fairlead.controller.targets.MetricsCommand;
import io.fairlead.controller.targets.TargetRoutes;
import io.fairlead.controller.upkeep.UpkeepCommands;
import io.fairlead.controller.upkeep.UpkeepRoutes;
import io.fairlead.controller.whoami.WhoAmICommand;
import io.fairlead.controller.whoami.WhoAmIRoutes;
import io.fairlead.controller.writer.FairleadController;
import java.security.SecureRandom;
import java.util.List;

/** All resources of the API and their verbs. A new resource is added to both lists. */
public final class Resources {
  /** The verbs of {@code fairleadctl} in the order of its help. */
  static final List<Class<?>> VERBS =
      List.of(
          ClusterCommands.class,
          ServiceCommands.class,
          BackendCommands.class,
          DrainsCommand.class,
          ChangesCommand.class,
          ApplyCommand.class,
          DiffCommand.class,
          ExportCommand.class,
          BackupCommand.class,
          RingCommand.class,
          GenerationsCommand.class,
          HoldsCommand.class,
          OthelloCommand.class,
          UpkeepCommands.Rebalance.class,
          UpkeepCommands.Defragment.class,
          UpkeepCommands.Show.class,
          ExplainCommand.class,
          MuxesCommand.class,
          MuxCommands.class,
          AgentsCommand.class,
          MetricsCommand.class,
          EventsCommand.class,
          AuditCommand.class,
          HealthCommand.class,
          WhoAmICommand.class,
          SupportBundleCommand.class);

  private Resources() {}

  /** As the other {@code of}, without a token for muxes. */
  public static List<Resource> of(FairleadController controller) {
    return of(controller, MuxAccess.NONE);
  }

  /** The resources that the controller's API serves. */
  public static List<Resource> of(FairleadController controller, MuxAccess access) {
    Plane plane = controller.plane();
    return List.of(
        new ServiceRoutes(plane, controller.services(), controller.muxes()),
        new BackendRoutes(plane, controller.backends(), controller.muxes()),
        new ClusterRoutes(controller.cluster()),
        new DrainRoutes(plane, controller.drains(), controller.drainWatch()),
        controller.probes(),
        new UpkeepRoutes(controller.upkeeps()),
        new ExplainRoutes(
            plane,
            controller.liveConnections(),
            controller.arrays(),
            controller.settled(),
            controller.clock()),
        new OthelloRoutes(plane, controller.othello()),
        new MuxRoutes(controller.muxList(), new SecureRandom()),
        new InspectRoutes(controller.muxes(), access),
        new OverviewRoutes(
            plane, controller.muxes(), controller.agents(), controller.probes().views()),
        new TargetRoutes(controller.targets()),
        new AgentRoutes(controller.agents(), controller.refusals()),
        new EventRoutes(plane, controller.muxes(), controller.drainWatch()),
        new AuditRoutes(controller.audit()),
        new BackupRoutes(controller.backup()),
        new GenerationRoutes(),
        new WhoAmIRoutes(),
        new HealthRoutes(plane));
  }
}
