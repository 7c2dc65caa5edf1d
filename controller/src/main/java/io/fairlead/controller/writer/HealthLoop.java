// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import io.fairlead.controller.agents.AgentReports;
import io.fairlead.controller.muxes.MetricsUrl;
import io.fairlead.controller.probes.HealthMetrics;
import io.fairlead.controller.probes.HealthView;
import io.fairlead.controller.probes.ProbeWatch;
import io.fairlead.controller.repository.StoredService;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.Tree;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.IntSupplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs {@link HealthWork} over ZooKeeper on a thread of its own, and shows what it does. */
final class HealthLoop implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HealthLoop.class);

  private record Config(int id, int version, long written) {}

  private final CuratorFramework client;
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
      CuratorFramework client,
      ControllerOptions options,
      Lead lead,
      Session session,
      IntSupplier muxes,
      AgentReports agents,
      ClockCheck clock,
      PrometheusMeterRegistry registry) {
    this.client = client;
    tree = new Tree(options.root());
    watch =
        new ProbeWatch(
            client, tree, System::nanoTime, () -> options.clock().instant().toEpochMilli());
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
    int version = service.state().configVersion();
    Config known = configs.get(name);
    if (known == null || known.id() != id || known.version() != version) {
      try {
        Stat stat = client.checkExists().forPath(tree.config(name));
        if (stat == null || stat.getVersion() != version) {
          return OptionalLong.empty();
        }
        known = new Config(id, version, stat.getMtime());
        configs.put(name, known);
      } catch (Exception e) { // Curator's
        LOG.debug("{}: {}", tree.config(name), e.toString());
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
