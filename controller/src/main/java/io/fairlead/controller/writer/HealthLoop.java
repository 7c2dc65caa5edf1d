// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.resources.muxes.MetricsUrl;
import io.fairlead.controller.resources.probes.HealthMetrics;
import io.fairlead.controller.resources.probes.HealthView;
import io.fairlead.controller.resources.probes.ProbeWatch;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.NodeException;
import io.fairlead.controller.store.Stat;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.repository.StoredService;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.IntSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs {@link HealthWork} over ZooKeeper on a thread of its own, and shows what it does. */
final class HealthLoop implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HealthLoop.class);

  private record Config(int id, Version version, long written) {}

  private final Store store;
  private final Tree tree;
  private final ProbeWatch watch;
  private final HealthWork work;
  private final Map<String, Config> configs = new HashMap<>();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("health"));

  /**
   * @param muxes how many live
   */
  HealthLoop(
      Store store,
      ControllerOptions options,
      Lead lead,
      Session session,
      IntSupplier muxes,
      AgentReports agents,
      ClockCheck clock,
      PrometheusMeterRegistry registry) {
    this.store = store;
    tree = new Tree(options.root());
    watch =
        new ProbeWatch(
            store, tree, System::nanoTime, () -> options.clock().instant().toEpochMilli());
    work =
        new HealthWork(
            new HealthWork.Sources(
                lead::current,
                session::isConnected,
                watch::fresh,
                muxes,
                image -> agents.silent(image, options.deadAfter()),
                this::written,
                System::nanoTime,
                options.healthSettle(),
                options.deadAfter()),
            clock,
            registry);
    registry.getPrometheusRegistry().register(new HealthMetrics(work::views, watch::probes));
  }

  void start() {
    watch.start();
    Periodic.start(thread, HealthWork.PERIOD_MILLIS, work::step);
  }

  List<HealthView> views() {
    return work.views();
  }

  /** Where probes have their metrics, by the id of the mux beside them. */
  Map<String, MetricsUrl> metrics() {
    return watch.metrics();
  }

  /**
   * One request for each change of a configuration; empty if another one is in ZooKeeper by now.
   */
  private OptionalLong written(StoredService service) {
    String name = service.image().config().name();
    int id = service.image().config().id();
    Version version = service.state().configVersion().orElseThrow();
    Config known = configs.get(name);
    if (known == null || known.id() != id || !known.version().equals(version)) {
      try {
        Optional<Stat> stat = store.stat(tree.config(name));
        if (stat.filter(at -> at.version().equals(version)).isEmpty()) {
          return OptionalLong.empty();
        }
        known = new Config(id, version, stat.get().written().toEpochMilli());
        configs.put(name, known);
      } catch (NodeException e) {
        LOG.debug("{}: {}", tree.config(name), e.toString());
        return OptionalLong.empty();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return OptionalLong.empty();
      }
    }
    return OptionalLong.of(known.written());
  }

  @Override
  public void close() {
    DaemonThreads.stop(thread);
    watch.close();
  }
}
