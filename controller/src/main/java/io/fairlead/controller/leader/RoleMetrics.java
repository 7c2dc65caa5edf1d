// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.agents.AgentMetrics;
import io.fairlead.controller.resources.drains.DrainMetrics;
import io.fairlead.controller.resources.health.HealthMetrics;
import io.fairlead.controller.resources.metrics.MetricsView;
import io.fairlead.controller.resources.metrics.StateMetrics;
import io.fairlead.controller.resources.othello.OthelloMetrics;
import io.fairlead.controller.resources.stages.StageMetrics;
import io.fairlead.controller.store.repository.StoredService;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/** Metrics of what holds in the present role: registered once, read at every scrape. */
final class RoleMetrics {
  private RoleMetrics() {}

  static void register(Facilities from, CurrentRole role, Reads reads) {
    PrometheusRegistry registry = from.registry.getPrometheusRegistry();
    registry.register(
        new AgentMetrics(
            () -> led(role, term -> term.softState().agents().list(term.catalogue().all())),
            () -> led(role, term -> services(term).map(each -> each.config().name()).toList())));
    registry.register(
        new DrainMetrics(
            () -> led(role, term -> services(term).toList()),
            () -> role.get().softState().drains(),
            () -> from.options.clock().instant().getEpochSecond()));
    registry.register(
        new StageMetrics(
            () -> led(role, term -> services(term).toList()),
            () -> role.get().softState().stages(),
            () -> from.options.clock().instant().getEpochSecond()));
    registry.register(new OthelloMetrics(() -> led(role, term -> term.othello().statuses())));
    registry.register(new HealthMetrics(() -> led(role, Term::health), from.probeWatch::probes));
    MetricsView view = new MetricsView(from.options.clock());
    registry.register(
        new StateMetrics(
            () -> view.of(reads.health(), reads.lastServices(), from.muxWatch.muxes())));
  }

  private static <T> List<T> led(CurrentRole role, Function<Term, List<T>> of) {
    return role.term().map(of).orElse(List.of());
  }

  private static Stream<ServiceImage> services(Term term) {
    return term.catalogue().all().stream().map(StoredService::image);
  }
}
