// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import com.google.common.util.concurrent.MoreExecutors;
import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.agents.ConnectionReports;
import io.fairlead.controller.resources.agents.Report;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/** The keepers of all services that are steered by {@code othello} in one leader's term. */
public final class OthelloKeepers implements ConnectionReports {
  /** Where writers are found. */
  public interface Writers {
    Optional<ArraysWriter> find(String service);
  }

  private final Writers writers;
  private final Surroundings around;
  private final Executor pool;
  private final OthelloCounters counters;
  private final Map<String, OthelloKeeper> keepers = new ConcurrentHashMap<>();

  /**
   * @param pool runs the tasks of many keepers, of each one at a time
   */
  public OthelloKeepers(
      Writers writers, Surroundings around, Executor pool, OthelloCounters counters) {
    this.writers = writers;
    this.around = around;
    this.pool = pool;
    this.counters = counters;
  }

  @Override
  public boolean asks(String service) {
    return keeper(service).isPresent();
  }

  @Override
  public Optional<Report.Remembered> accept(Place place, Optional<Changes> changes) {
    return keeper(place.service()).map(keeper -> keeper.accept(place, changes));
  }

  @Override
  public OptionalInt nextSeconds(String service) {
    return keeper(service)
        .map(keeper -> OptionalInt.of(keeper.nextSeconds()))
        .orElse(OptionalInt.empty());
  }

  /** Looks after these services in the background; called every moment. */
  public void step(Collection<String> services) {
    keepers.keySet().retainAll(services);
    services.forEach(service -> keeper(service).ifPresent(OthelloKeeper::step));
  }

  /** How a service stands; empty if it is not steered so. */
  public Optional<OthelloStatus> status(String service) {
    return keeper(service).map(OthelloKeeper::status);
  }

  /** All of them, by ascending name. */
  public List<OthelloStatus> statuses() {
    List<OthelloStatus> all = new ArrayList<>();
    keepers.values().forEach(keeper -> all.add(keeper.status()));
    all.sort((one, other) -> one.service().compareTo(other.service()));
    return all;
  }

  /** The keeper of the service's present writer: that of a new service of its name is another. */
  private Optional<OthelloKeeper> keeper(String service) {
    Optional<ArraysWriter> writer =
        writers
            .find(service)
            .filter(found -> !found.isGone())
            .filter(found -> found.stored().image().config().othello().isPresent());
    if (writer.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        keepers.compute(
            service,
            (name, keeper) -> {
              if (keeper != null && keeper.writer() == writer.get()) {
                return keeper;
              }
              counters.began(name);
              return new OthelloKeeper(
                  writer.get(), around, MoreExecutors.newSequentialExecutor(pool), counters);
            }));
  }
}
