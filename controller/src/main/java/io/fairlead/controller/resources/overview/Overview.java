// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.overview;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.agents.AgentView;
import io.fairlead.controller.resources.health.HealthView;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.store.repository.StoredService;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * What a person looks at first. Its size does not grow with the number of backends: of servers only
 * the busiest are listed.
 *
 * @param services by name
 * @param muxes by id
 * @param servers the busiest first
 * @param serverCount of all servers
 * @param alerts the worst first
 */
public record Overview(
    List<Service> services,
    List<Mux> muxes,
    List<Server> servers,
    int serverCount,
    List<Alert> alerts) {
  /** Servers that are listed. */
  public static final int SERVERS = 48;

  /**
   * @param reporting backends whose agents report
   * @param silent backends whose agents reported once
   * @param detached backends of which agents say that their server takes no packet of muxes
   * @param connections by those that report; absent if none does
   * @param muxesServing that serve it, of any generation
   * @param muxesBehind of those, that have yet to apply its latest generation
   */
  public record Service(
      String name,
      long generation,
      String steering,
      int buckets,
      int active,
      int draining,
      int unhealthy,
      int reporting,
      int silent,
      int detached,
      Optional<Long> connections,
      Optional<Double> openedPerSecond,
      int muxesServing,
      int muxesBehind) {}

  /**
   * @param services that it serves
   * @param behind of those, whose latest generation it has yet to apply
   * @param refused services that it refuses in part or whole
   * @param withdrawn services that it does not announce although it has a ring
   * @param unreachable backends' addresses that it can't send to
   */
  public record Mux(
      String id,
      String kind,
      String version,
      Optional<String> address,
      int services,
      int behind,
      int refused,
      int withdrawn,
      int unreachable) {}

  /**
   * An address that backends have.
   *
   * @param state of its backends, the worst: "detached", "unhealthy", "draining" or "active"
   * @param connections by its agent; absent if it does not report
   */
  public record Server(
      String address,
      List<String> services,
      String state,
      Optional<Long> connections,
      Optional<Double> openedPerSecond) {}

  /** What agents say of one service or server, summed up. */
  private static final class Sum {
    private int reporting;
    private int silent;
    private int detached;
    private long connections;
    private double opened;
    private boolean isRateKnown;

    void add(AgentView agent) {
      silent += agent.state() == AgentView.State.SILENT ? 1 : 0;
      detached += agent.isDetached() ? 1 : 0;
      if (agent.state() != AgentView.State.REPORTING || agent.established().isEmpty()) {
        return;
      }
      reporting++;
      connections += agent.established().get() + agent.halfOpen().orElse(0L);
      agent
          .openedPerSecond()
          .ifPresent(
              rate -> {
                opened += rate;
                isRateKnown = true;
              });
    }

    Optional<Long> connections() {
      return reporting > 0 ? Optional.of(connections) : Optional.empty();
    }

    Optional<Double> opened() {
      return isRateKnown ? Optional.of(Math.round(opened * 10) / 10.0) : Optional.empty();
    }
  }

  /** A server while it is put together. */
  private static final class Host {
    private static final List<String> WORST_LAST =
        List.of("active", "draining", "unhealthy", "detached");

    private final Sum sum = new Sum();
    private final TreeSet<String> services = new TreeSet<>();
    private int state;

    void state(String other) {
      state = Math.max(state, WORST_LAST.indexOf(other));
    }

    Server view(String address) {
      return new Server(
          address, List.copyOf(services), WORST_LAST.get(state), sum.connections(), sum.opened());
    }
  }

  /**
   * @param agents of every backend in service
   * @param health of services that are probed, as far as this controller knows
   */
  public static Overview of(
      Collection<StoredService> stored,
      List<MuxView> muxes,
      List<AgentView> agents,
      List<HealthView> health) {
    Map<String, Sum> byService = new HashMap<>();
    Map<String, Host> byAddress = new LinkedHashMap<>();
    for (AgentView agent : agents) {
      byService.computeIfAbsent(agent.service(), name -> new Sum()).add(agent);
      Host host = byAddress.computeIfAbsent(agent.address(), address -> new Host());
      host.sum.add(agent);
      host.services.add(agent.service());
      if (agent.isDetached()) {
        host.state("detached");
      }
    }
    List<Service> services = new ArrayList<>();
    Map<String, Long> generations = new HashMap<>();
    for (StoredService each : stored) {
      ServiceImage image = each.image();
      String name = image.config().name();
      generations.put(name, image.ring().generation());
      services.add(service(image, muxes, byAddress, byService.getOrDefault(name, new Sum())));
    }
    List<Mux> seen = muxes.stream().map(mux -> mux(mux, generations)).toList();
    List<Server> servers =
        byAddress.entrySet().stream()
            .map(host -> host.getValue().view(host.getKey()))
            .sorted(
                Comparator.comparing((Server server) -> -server.connections().orElse(-1L))
                    .thenComparing(Server::address))
            .limit(SERVERS)
            .toList();
    return new Overview(
        services,
        seen,
        servers,
        byAddress.size(),
        Alert.of(services, muxes, agents, generations, health));
  }

  private static Service service(
      ServiceImage image, List<MuxView> muxes, Map<String, Host> hosts, Sum sum) {
    String name = image.config().name();
    int[] counts = new int[Host.WORST_LAST.size()];
    for (ServiceImage.Member member : image.wanted().values()) {
      String state = image.transitions().health().isOut(member.id()) ? "unhealthy" : member.state();
      counts[Host.WORST_LAST.indexOf(state)]++;
      Optional.ofNullable(hosts.get(member.address().toString()))
          .ifPresent(host -> host.state(state));
    }
    long generation = image.ring().generation();
    List<MuxService> serving =
        muxes.stream()
            .flatMap(mux -> Optional.ofNullable(mux.services().get(name)).stream())
            .filter(MuxService::isServed)
            .toList();
    return new Service(
        name,
        generation,
        image.config().steering().word(),
        image.ring().buckets(),
        counts[0],
        counts[1],
        counts[2],
        sum.reporting,
        sum.silent,
        sum.detached,
        sum.connections(),
        sum.opened(),
        serving.size(),
        (int) serving.stream().filter(each -> each.generation() < generation).count());
  }

  private static Mux mux(MuxView mux, Map<String, Long> generations) {
    int served = 0;
    int behind = 0;
    int refused = 0;
    int withdrawn = 0;
    for (Map.Entry<String, MuxService> each : mux.services().entrySet()) {
      MuxService service = each.getValue();
      served += service.isServed() ? 1 : 0;
      refused += service.refused().isPresent() ? 1 : 0;
      withdrawn += service.withdrawn().isPresent() ? 1 : 0;
      behind +=
          service.isServed() && service.generation() < generations.getOrDefault(each.getKey(), 0L)
              ? 1
              : 0;
    }
    return new Mux(
        mux.id(),
        mux.kind(),
        mux.version(),
        mux.address().or(mux::address6),
        served,
        behind,
        refused,
        withdrawn,
        mux.unreachable().size() + mux.unreachableMore());
  }
}
