// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.resources.health.HealthView;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.othello.OthelloCounters;
import io.fairlead.controller.resources.othello.OthelloKeepers;
import io.fairlead.controller.resources.othello.Surroundings;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.service.Addresses;
import io.fairlead.controller.service.EventTimer;
import io.fairlead.controller.service.ServiceWriter;
import io.fairlead.controller.service.VipGuard;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.StoredService;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All that a leader knows and runs in one epoch. It is built aside, begins once it is this
 * controller's role, and is closed when another controller leads or may do so. What runs then ends
 * by itself: its writes fail, since another leader has raised the epoch, or harm nothing, since
 * there is none.
 */
final class Term implements Role {
  private static final Logger LOG = LoggerFactory.getLogger(Term.class);
  private static final int LOOPS = 3;
  private static final long KEEPERS_MILLIS = 500;

  private final Facilities from;
  private final Epoch epoch;
  private final Catalogue catalogue;
  private final SettledWriter settledWriter;
  private final SoftState softState;
  private final OthelloKeepers othello;
  private final HealthWork health;
  private final Retention retention;
  private final ScheduledExecutorService threads =
      Executors.newScheduledThreadPool(LOOPS, DaemonThreads.named("term"));
  private final ScheduledThreadPoolExecutor timerThread =
      EventTimer.thread(DaemonThreads.named("timer"));
  private final EventTimer timer;

  private Term(Facilities from, Epoch epoch, Plane plane, Supplier<VipGuard.Taken> taken) {
    this.from = from;
    this.epoch = epoch;
    timer =
        new EventTimer(
            EventTimer.alarms(timerThread),
            from.options.clock(),
            System::nanoTime,
            () -> from.session.isConnected() ? from.clock.lead() : Optional.empty());
    catalogue = new Catalogue(from, epoch, this::writer, taken);
    settledWriter = new SettledWriter(SettledWriter.Store.of(from.repository.store()), epoch);
    AgentReports reports =
        new AgentReports(this::standing, System::nanoTime, from.random::nextLong);
    SettledServices settled =
        new SettledServices(
            from.muxWatch::presence,
            from.options.monotonic(),
            from.clock::age,
            settledWriter,
            catalogue::sharing);
    othello =
        new OthelloKeepers(
            service -> Optional.ofNullable(catalogue.writers().get(service)),
            new Surroundings(
                from.repository.store(),
                from.muxWatch::muxes,
                settled,
                System::nanoTime,
                from.clock::leadSeconds,
                from.random::nextLong,
                from.options.arraysWait()),
            from.threads.othello,
            new OthelloCounters(from.registry));
    softState = SoftState.of(plane, reports, settled, othello);
    health =
        new HealthWork(
            catalogue.writers(),
            new HealthWork.Sources(
                from.session::isConnected,
                from.probeWatch::fresh,
                () -> from.muxWatch.muxes().size(),
                image -> reports.silent(image, from.options.deadAfter()),
                new ConfigTimes(from.store, from.tree),
                System::nanoTime,
                from.options.healthSettle(),
                from.options.deadAfter()),
            from.clock,
            from.registry);
    retention = new Retention(from.journal, from.threads.catalogue, epoch);
  }

  /**
   * Builds the term of an epoch that was raised for it.
   *
   * @param taken addresses that are no VIPs
   * @param known of a service, if it has not changed since, saves reading it
   * @throws StoreException if not all services could be read; nothing is left of the term then
   */
  static Term load(
      Facilities from,
      Epoch epoch,
      Plane plane,
      Supplier<VipGuard.Taken> taken,
      Function<String, Optional<StoredService>> known)
      throws StoreException {
    from.compareClocks(); // what is loaded is dated by it
    Term term = new Term(from, epoch, plane, taken);
    term.catalogue.load(known);
    return term;
  }

  private ServiceWriter writer(Addresses addresses, StoredService stored) {
    return ServiceWriter.builder(from.repository, epoch, stored)
        .clock(from.clock)
        .notes(from.notes)
        .metrics(from.commits)
        .addresses(addresses)
        .live(softState.reports(), softState.settled())
        .drains(softState.drains())
        .stages(softState.stages())
        .threads(from.threads.writers(stored.image().config().buckets()), from.threads.snapshots)
        .timer(timer)
        .build();
  }

  private Optional<AgentReports.Standing> standing(String service, int backend) {
    return catalogue
        .find(service)
        .map(StoredService::image)
        .flatMap(
            image ->
                Optional.ofNullable(image.ring().backends().get(backend))
                    .map(at -> new AgentReports.Standing(image.config().id(), at.address())));
  }

  @Override
  public void begin() {
    LoadsWriter loads =
        new LoadsWriter(
            softState.reports()::loads,
            LoadsWriter.Store.of(from.repository.store()),
            epoch,
            from.options.clock(),
            System::nanoTime,
            from.registry);
    Periodic.start(threads, HealthWork.PERIOD_MILLIS, health::step);
    Periodic.start(threads, KEEPERS_MILLIS, this::keep);
    Periodic.start(timerThread, EventTimer.COMPARISONS.toMillis(), timer::compareClocks);
    catalogue.begin();
    Periodic.start(threads, LoadsWriter.PERIOD_MILLIS, () -> tellMuxes(loads));
    retention.tidy();
  }

  /** Only submits. */
  private void keep() {
    if (from.session.isConnected()) {
      if (catalogue.hasExpired()) {
        from.threads.catalogue.execute(catalogue::removeExpired);
      }
      if (catalogue.isUnsettled()) {
        from.threads.catalogue.execute(this::settle);
      }
      othello.step(catalogue.writers().keySet());
    }
  }

  private void settle() {
    try {
      catalogue.settle();
    } catch (StoreException e) {
      LOG.debug("{}", e.getMessage()); // reads are not confirmed meanwhile
    }
  }

  private void tellMuxes(LoadsWriter loads) {
    if (from.session.isConnected()) {
      loads.step(catalogue.all().stream().map(StoredService::image).toList());
      if (from.clock.leadSeconds().isPresent()) {
        settledWriter.step(catalogue.latest());
      }
    }
  }

  Epoch epoch() {
    return epoch;
  }

  Catalogue catalogue() {
    return catalogue;
  }

  OthelloKeepers othello() {
    return othello;
  }

  /** The health of services with a check, by name. */
  List<HealthView> health() {
    return health.views();
  }

  /** Counts a record of the journal that is about to be written. */
  void noted() {
    retention.noted();
  }

  @Override
  public Optional<Term> term() {
    return Optional.of(this);
  }

  @Override
  public long number() {
    return epoch.number();
  }

  @Override
  public Optional<Images> images() {
    return Optional.of(catalogue);
  }

  @Override
  public Optional<StoredService> known(String service) {
    return catalogue.find(service);
  }

  @Override
  public SoftState softState() {
    return softState;
  }

  @Override
  public void close() {
    catalogue.close();
    timerThread.shutdownNow();
    threads.shutdown();
  }

  /** As {@link #close}, and waits for what runs. */
  void stop() {
    DaemonThreads.stop(threads);
  }
}
