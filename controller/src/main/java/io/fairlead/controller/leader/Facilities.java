// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.health.ProbeWatch;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.MuxWatch;
import io.fairlead.controller.service.ClockCheck;
import io.fairlead.controller.service.Notes;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.LeaderWatch;
import io.fairlead.controller.store.MuxStore;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.ServiceWatch;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.StoreTime;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.security.SecureRandom;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What outlives a term, and is handed to each: the connection, what is followed whoever leads,
 * clocks, threads and metrics.
 */
final class Facilities implements AutoCloseable {
  static final Duration WRITE_DEADLINE = Duration.ofSeconds(15);

  private static final Logger LOG = LoggerFactory.getLogger(Facilities.class);

  final ControllerOptions options;
  final Store store;

  /** The store that elects and writes. */
  final Store writing;

  final Tree tree;
  final Session session;
  final ServiceRepository repository;
  final MuxStore muxStore;
  final Journal journal;
  final Notes notes;
  final ServiceWatch<StoredService> serviceWatch;
  final LeaderWatch leaderWatch;
  final MuxWatch muxWatch;
  final ProbeWatch probeWatch;
  final SecureRandom random = new SecureRandom();
  final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  final CommitMetrics commits = new CommitMetrics(registry);
  final ClockCheck clock;
  final Threads threads = new Threads();

  /**
   * @param noted runs for each record of the journal that is about to be written
   */
  Facilities(ControllerOptions options, Store store, Runnable noted) {
    this.options = options;
    this.store = store;
    tree = new Tree(options.root());
    session = new Session(store.address());
    store.onConnection(session::changed);
    writing = options.writing().apply(store);
    repository = new ServiceRepository(new ServiceStore(writing, tree, WRITE_DEADLINE));
    muxStore = new MuxStore(writing, tree, WRITE_DEADLINE);
    journal = new Journal(store, tree);
    notes = new Notes(options.id(), options.clock(), noted);
    serviceWatch = new ServiceWatch<>(store, tree, repository.store(), repository::readCommitted);
    leaderWatch = new LeaderWatch(store, tree);
    muxWatch = new MuxWatch(store, tree, options.monotonic());
    probeWatch =
        new ProbeWatch(
            store, tree, System::nanoTime, () -> options.clock().instant().toEpochMilli());
    clock = clock(new StoreTime(store, tree, options.id()));
  }

  private ClockCheck clock(StoreTime time) {
    Gauge.builder("fairlead.controller.clock.difference.seconds", () -> clock.difference())
        .description("Seconds that this clock is at least ahead of ZooKeeper's; negative: behind")
        .register(registry);
    Counter refused = registry.counter("fairlead.controller.clock.refusals");
    return options.checksClock()
        ? new ClockCheck(options.clock(), System::nanoTime, time::write, refused::increment)
        : ClockCheck.off(options.clock(), System::nanoTime, time::write);
  }

  /** As soon as the store can be reached. */
  void connect() {
    store.start();
    Periodic.start(threads.clock, ClockCheck.PERIOD.toMillis(), this::compareClocks);
  }

  /** Once what the tree's nodes name may be followed. */
  void follow() {
    leaderWatch.start();
    muxWatch.start();
    probeWatch.start();
    serviceWatch.start();
  }

  void compareClocks() {
    if (session.isConnected()) {
      try {
        clock.sample();
      } catch (StoreException e) {
        LOG.debug("{}", e.getMessage()); // the metric shows it
      }
    }
  }

  @Override
  public void close() {
    leaderWatch.close();
    serviceWatch.close();
    muxWatch.close();
    probeWatch.close();
    threads.close();
    store.close();
    registry.close();
  }
}
