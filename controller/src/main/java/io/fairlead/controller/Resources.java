// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import io.fairlead.controller.cli.manifest.ApplyCommand;
import io.fairlead.controller.cli.manifest.DiffCommand;
import io.fairlead.controller.cli.manifest.ExportCommand;
import io.fairlead.controller.cli.support.SupportBundleCommand;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.leader.FairleadController;
import io.fairlead.controller.resources.agents.AgentRoutes;
import io.fairlead.controller.resources.agents.Agents;
import io.fairlead.controller.resources.agents.AgentsCommand;
import io.fairlead.controller.resources.audit.AuditCommand;
import io.fairlead.controller.resources.audit.AuditRoutes;
import io.fairlead.controller.resources.backends.BackendCommands;
import io.fairlead.controller.resources.backends.BackendRoutes;
import io.fairlead.controller.resources.backends.ChangesCommand;
import io.fairlead.controller.resources.backup.BackupCommand;
import io.fairlead.controller.resources.backup.BackupRoutes;
import io.fairlead.controller.resources.cluster.ClusterCommands;
import io.fairlead.controller.resources.cluster.ClusterRoutes;
import io.fairlead.controller.resources.drains.DrainRoutes;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.drains.DrainsCommand;
import io.fairlead.controller.resources.events.EventRoutes;
import io.fairlead.controller.resources.events.EventsCommand;
import io.fairlead.controller.resources.explain.ExplainCommand;
import io.fairlead.controller.resources.explain.ExplainRoutes;
import io.fairlead.controller.resources.explain.RingCommand;
import io.fairlead.controller.resources.generations.GenerationRoutes;
import io.fairlead.controller.resources.generations.GenerationsCommand;
import io.fairlead.controller.resources.health.HealthCommand;
import io.fairlead.controller.resources.hold.HoldsCommand;
import io.fairlead.controller.resources.inspect.InspectRoutes;
import io.fairlead.controller.resources.inspect.MuxAccess;
import io.fairlead.controller.resources.muxes.MuxCommands;
import io.fairlead.controller.resources.muxes.MuxRoutes;
import io.fairlead.controller.resources.muxes.MuxesCommand;
import io.fairlead.controller.resources.othello.OthelloCommand;
import io.fairlead.controller.resources.othello.OthelloRoutes;
import io.fairlead.controller.resources.overview.OverviewRoutes;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.replay.ReplayCommand;
import io.fairlead.controller.resources.services.ServiceCommands;
import io.fairlead.controller.resources.services.ServiceRoutes;
import io.fairlead.controller.resources.stages.StageCommands;
import io.fairlead.controller.resources.stages.StageRoutes;
import io.fairlead.controller.resources.status.StatusRoutes;
import io.fairlead.controller.resources.targets.MetricsCommand;
import io.fairlead.controller.resources.targets.TargetRoutes;
import io.fairlead.controller.resources.upkeep.UpkeepCommands;
import io.fairlead.controller.resources.upkeep.UpkeepRoutes;
import io.fairlead.controller.resources.whoami.WhoAmICommand;
import io.fairlead.controller.resources.whoami.WhoAmIRoutes;
import java.security.SecureRandom;
import java.util.List;
import java.util.function.Supplier;

/** All resources of the API and their verbs. A new resource is added to both lists. */
public final class Resources {
  /** The verbs of {@code fairleadctl} in the order of its help. */
  static final List<Class<?>> VERBS =
      List.of(
          ClusterCommands.class,
          ServiceCommands.class,
          BackendCommands.class,
          DrainsCommand.class,
          StageCommands.class,
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
          ReplayCommand.class,
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
    return of(controller, controller.plane(), MuxAccess.NONE);
  }

  /**
   * The resources that the controller's API serves.
   *
   * @param plane what they read
   */
  public static List<Resource> of(FairleadController controller, Plane plane, MuxAccess access) {
    Supplier<Agents> agents = () -> controller.softState().agents();
    Supplier<DrainWatch> drains = () -> controller.softState().drains();
    return List.of(
        new ServiceRoutes(plane, controller.services(), controller.muxes()),
        new BackendRoutes(controller.backends(), controller.muxes()),
        new ClusterRoutes(controller.cluster()),
        new DrainRoutes(plane, controller.drains(), drains),
        new StageRoutes(plane, controller.stages(), () -> controller.softState().stages()),
        controller.probes(),
        new UpkeepRoutes(controller.upkeeps()),
        new ExplainRoutes(
            plane,
            () -> controller.softState().reports(),
            controller.arrays(),
            () -> controller.softState().settled(),
            controller.clock()),
        new OthelloRoutes(plane, controller.othello()),
        new MuxRoutes(controller.muxList(), new SecureRandom()),
        new InspectRoutes(controller.muxes(), access),
        new OverviewRoutes(plane, controller.muxes(), agents, controller.probes().views()),
        new TargetRoutes(controller.targets()),
        new AgentRoutes(agents, controller.refusals()),
        new EventRoutes(plane, controller.muxes(), drains),
        new AuditRoutes(controller.audit()),
        new BackupRoutes(controller.backup()),
        new GenerationRoutes(),
        new WhoAmIRoutes(),
        new StatusRoutes(plane));
  }
}
