// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.overview;

import io.fairlead.controller.resources.agents.AgentView;
import io.fairlead.controller.resources.health.HealthView;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.MuxView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Something that is wrong now, as far as the controller itself can tell. docs/alerts.yaml has more,
 * from metrics over time.
 *
 * @param name as that of the alert there, where it is one
 * @param severity "critical" if connections cannot be served, else "warning"
 */
public record Alert(
    String name, String severity, String text, Optional<String> service, Optional<String> mux) {
  /** Of one kind; a cluster without any mux would have one for each service. */
  private static final int PER_NAME = 20;

  static List<Alert> of(
      List<Overview.Service> services,
      List<MuxView> muxes,
      List<AgentView> agents,
      Map<String, Long> generations,
      List<HealthView> health) {
    List<Alert> alerts = new ArrayList<>();
    if (muxes.isEmpty() && !services.isEmpty()) {
      alerts.add(critical("NoMux", "No mux runs, so no service is announced.", null, null));
    }
    for (Overview.Service service : services) {
      of(service, !muxes.isEmpty(), alerts);
    }
    for (MuxView mux : muxes) {
      of(mux, generations, alerts);
    }
    for (AgentView agent : agents) {
      if (agent.isDetached()) {
        alerts.add(
            critical(
                "FairleadServerDetached",
                "Backend %d of %s (%s) takes no packet: nothing is attached (%s)."
                    .formatted(
                        agent.backend(),
                        agent.service(),
                        agent.address(),
                        agent.form().orElseThrow().place()),
                agent.service(),
                null));
      }
    }
    for (HealthView view : health) {
      if (view.panic()) {
        alerts.add(
            warning(
                "FairleadHealthPanic",
                "Only %d backends of %s are healthy, so health is ignored."
                    .formatted(view.healthy(), view.service()),
                view.service(),
                null));
      }
    }
    return bounded(alerts);
  }

  private static void of(Overview.Service service, boolean hasMuxes, List<Alert> alerts) {
    String name = service.name();
    if (hasMuxes && service.muxesServing() == 0) {
      alerts.add(critical("NotServed", "No mux serves %s.".formatted(name), name, null));
    }
    if (service.active() == 0) {
      alerts.add(
          critical(
              "NoBackend",
              "%s has no backend that takes new connections.".formatted(name),
              name,
              null));
    }
    if (service.silent() > 0) {
      alerts.add(
          warning(
              "FairleadAgentSilent",
              "Agents of %d backends of %s are silent.".formatted(service.silent(), name),
              name,
              null));
    }
    if (service.unhealthy() > 0) {
      alerts.add(
          warning(
              "BackendsUnhealthy",
              "Health took %d backends of %s out of service.".formatted(service.unhealthy(), name),
              name,
              null));
    }
  }

  private static void of(MuxView mux, Map<String, Long> generations, List<Alert> alerts) {
    mux.services()
        .forEach(
            (name, service) -> {
              if (generations.containsKey(name)) {
                of(mux.id(), name, service, generations.get(name), alerts);
              }
            });
    int unreachable = mux.unreachable().size() + mux.unreachableMore();
    if (unreachable > 0) {
      alerts.add(
          warning(
              "FairleadBackendsUnreachable",
              "%s cannot send to %d backends and drops their packets."
                  .formatted(mux.id(), unreachable),
              null,
              mux.id()));
    }
  }

  private static void of(
      String mux, String name, MuxService service, long generation, List<Alert> alerts) {
    if (service.refused().isPresent()) {
      alerts.add(
          warning(
              service.isUnsupported() ? "FairleadServiceUnsupported" : "FairleadMuxStale",
              "%s refuses of %s: %s"
                  .formatted(mux, name, service.why().orElse(service.refused().get())),
              name,
              mux));
    } else if (service.withdrawn().isPresent()) {
      alerts.add(
          warning(
              "FairleadMuxWithdrawn",
              "%s does not announce %s: %s".formatted(mux, name, service.withdrawn().get()),
              name,
              mux));
    } else if (service.isServed() && service.generation() < generation) {
      alerts.add(
          warning(
              "FairleadMuxBehind",
              "%s serves generation %d of %s, which has %d."
                  .formatted(mux, service.generation(), name, generation),
              name,
              mux));
    }
  }

  /** The worst first, and of each name so many that a person may read them. */
  private static List<Alert> bounded(List<Alert> alerts) {
    Map<String, Integer> counts = new HashMap<>();
    return alerts.stream()
        .sorted(Comparator.comparing(Alert::severity).thenComparing(Alert::name))
        .filter(alert -> counts.merge(alert.name(), 1, Integer::sum) <= PER_NAME)
        .toList();
  }

  private static Alert critical(String name, String text, String service, String mux) {
    return new Alert(
        name, "critical", text, Optional.ofNullable(service), Optional.ofNullable(mux));
  }

  private static Alert warning(String name, String text, String service, String mux) {
    return new Alert(name, "warning", text, Optional.ofNullable(service), Optional.ofNullable(mux));
  }
}
