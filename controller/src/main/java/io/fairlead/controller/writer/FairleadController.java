// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import com.google.common.collect.Maps;
import io.fairlead.controller.resources.agents.AgentMetrics;
import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.resources.agents.AgentRoutes;
import io.fairlead.controller.resources.agents.Agents;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.audit.AuditLog;
import io.fairlead.controller.resources.backends.Backends;
import io.fairlead.controller.resources.cluster.Cluster;
import io.fairlead.controller.resources.drains.DrainMetrics;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.drains.Drains;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.metrics.MetricsView;
import io.fairlead.controller.resources.metrics.StateMetrics;
import io.fairlead.controller.resources.muxes.MuxList;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.MuxWatch;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.othello.ArraysWriter;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.othello.OthelloCounters;
import io.fairlead.controller.resources.othello.OthelloKeepers;
import io.fairlead.controller.resources.othello.OthelloMetrics;
import io.fairlead.controller.resources.othello.OthelloStatus;
import io.fairlead.controller.resources.othello.Surroundings;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.probes.ProbeRoutes;
import io.fairlead.controller.resources.services.Services;
import io.fairlead.controller.resources.targets.MetricsTargets;
import io.fairlead.controller.resources.upkeep.Upkeeps;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.LeaderWatch;
import io.fairlead.controller.store.Leadership;
import io.fairlead.controller.store.MuxStore;
import io.fairlead.controller.store.Restore;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.ServiceWatch;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.StoreTime;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.repository.Backup;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control plane on ZooKeeper: opened by {@code Main}, asked by the resources of the REST API,
 * closed at the end. This class only wires: {@link Leadership} elects, the {@link Catalogue} has
 * all services, a {@link ServiceWriter} one of them; {@link Reads} and {@link Writes} answer.
 */
public final class FairleadController implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FairleadController.class);
  private static final Duration WRITE_DEADLINE = Duration.ofSeconds(15);
  private static final Duration CONNECT = Duration.ofSeconds(30);
  private static final int WRITER_THREADS = 4;
  private static final int OTHELLO_THREADS = 2;
  private static final long UPKEEP_POLL_MILLIS = 500;

  private final ControllerOptions options;
  private final Tree tree;
  private final Store store;
  private final Store writing;
  private final ServiceStore serviceStore;
  private final ServiceRepository repository;
  private final MuxStore muxStore;
  private final Journal journal;
  private final Retention retention;
  private final Notes notes;
  private final ServiceWatch<StoredService> serviceWatch;
  private final LeaderWatch leaderWatch;
  private final MuxWatch muxWatch;
  private final HealthLoop health;
  private final SecureRandom random = new SecureRandom();
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final CommitMetrics commits = new CommitMetrics(registry);
  private final ExecutorService catalogueThread =
      Executors.newSingleThreadExecutor(DaemonThreads.named("catalogue"));
  private final ExecutorService writerThreads =
      Executors.newFixedThreadPool(WRITER_THREADS, DaemonThreads.named("writer"));

  /** One at a time: encoding the largest ring takes a hundred MB. */
  private final ExecutorService snapshotThread =
      Executors.newSingleThreadExecutor(DaemonThreads.named("snapshot"));

  private final ScheduledExecutorService upkeepThread =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("upkeep"));
  private final ScheduledExecutorService clockThread =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("clock"));
  private final ClockCheck clock;
  private final Lead lead = new Lead();
  private final AgentReports agentReports =
      new AgentReports(this::standing, System::nanoTime, random::nextLong);
  private final ExecutorService othelloThreads =
      Executors.newFixedThreadPool(OTHELLO_THREADS, DaemonThreads.named("othello"));
  private final OthelloKeepers othello;
  private final LoadsWriter loads;
  private final SettledWriter settledWriter;
  private final ScheduledExecutorService loadsThread =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("loads"));
  private final Session session;
  private final Reads reads;
  private final Writes writes;
  private final Agents agents;
  private final SettledServices settled;
  private final DrainWatch drainWatch;
  private volatile Leadership leadership;
  private volatile Optional<URI> url = Optional.empty();

  /**
   * Neither follows nor leads before {@link #start}.
   *
   * @param store not started yet; it is closed with this
   */
  public FairleadController(ControllerOptions options, Store store) {
    this.options = options;
    this.store = store;
    tree = new Tree(options.root());
    session = new Session(store.address());
    store.onConnection(session::changed);
    writing = options.writing().apply(store);
    serviceStore = new ServiceStore(writing, tree, WRITE_DEADLINE);
    repository = new ServiceRepository(serviceStore);
    muxStore = new MuxStore(writing, tree, WRITE_DEADLINE);
    journal = new Journal(store, tree);
    retention = new Retention(journal, catalogueThread, lead::epoch);
    clock = clock(new StoreTime(store, tree, options.id()));
    notes = new Notes(options.id(), options.clock(), retention::noted);
    serviceWatch = new ServiceWatch<>(store, tree, serviceStore, repository::readCommitted);
    leaderWatch = new LeaderWatch(store, tree);
    muxWatch = new MuxWatch(store, tree, options.monotonic());
    settledWriter = new SettledWriter(SettledWriter.Store.of(serviceStore), this::leads);
    settled =
        new SettledServices(
            muxWatch::presence, options.monotonic(), clock::age, settledWriter, lead::sharing);
    reads = new Reads(lead, session, serviceStore, serviceWatch, leaderWatch, journal, commits);
    othello =
        new OthelloKeepers(
            this::arraysWriter,
            new Surroundings(
                serviceStore,
                muxWatch::muxes,
                settled,
                System::nanoTime,
                clock::leadSeconds,
                random::nextLong,
                options.arraysWait()),
            othelloThreads,
            new OthelloCounters(registry));
    loads = loadsWriter();
    health =
        new HealthLoop(
            store,
            options,
            lead,
            session,
            () -> muxWatch.muxes().size(),
            agentReports,
            clock,
            registry);
    agents = new Agents(reads, agentReports, othello);
    drainWatch = new DrainWatch(agentReports, settled, System::nanoTime);
    writes = new Writes(lead, session, catalogueThread, drainWatch, commits);
    registry.getPrometheusRegistry().register(agentMetrics());
    registry.getPrometheusRegistry().register(drainMetrics());
    registry.getPrometheusRegistry().register(new OthelloMetrics(othello::statuses));
    MetricsView view = new MetricsView(options.clock());
    registry
        .getPrometheusRegistry()
        .register(
            new StateMetrics(
                () -> view.of(reads.health(), reads.lastServices(), muxWatch.muxes())));
  }

  private LoadsWriter loadsWriter() {
    return new LoadsWriter(
        agentReports::loads,
        LoadsWriter.Store.of(serviceStore),
        this::leads,
        options.clock(),
        System::nanoTime,
        registry);
  }

  private boolean leads(Epoch epoch) {
    return lead.epoch().equals(Optional.of(epoch));
  }

  private DrainMetrics drainMetrics() {
    return new DrainMetrics(
        () ->
            lead.current().map(Catalogue::all).orElse(List.of()).stream()
                .map(StoredService::image)
                .toList(),
        drainWatch,
        () -> options.clock().instant().getEpochSecond());
  }

  private AgentMetrics agentMetrics() {
    Supplier<Collection<StoredService>> led =
        () -> lead.current().map(Catalogue::all).orElse(List.of());
    return new AgentMetrics(
        () -> agents.list(led.get()),
        () -> led.get().stream().map(each -> each.image().config().name()).toList());
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

  private void compareClocks() {
    if (session.isConnected()) {
      try {
        clock.sample();
      } catch (StoreException e) {
        LOG.debug("{}", e.getMessage()); // the metric shows it
      }
    }
  }

  /**
   * Begins to follow and to seek leadership; returns without waiting for either.
   *
   * @param url of this controller's API, for the others to send writes to while it leads
   */
  public void start(Optional<URI> url) {
    this.url = url;
    leadership =
        new Leadership(
            writing,
            tree,
            options.id(),
            url.map(URI::toString),
            options.protectsOpen(),
            new Leadership.Listener() {
              @Override
              public void enter() {
                leaderWatch.start();
                muxWatch.start();
                health.start();
                serviceWatch.start();
              }

              @Override
              public void lead(Epoch epoch) throws StoreException {
                FairleadController.this.lead(epoch);
              }

              @Override
              public void follow() {
                FairleadController.this.follow();
              }
            });
    store.start();
    leadership.start();
    Periodic.start(clockThread, ClockCheck.PERIOD.toMillis(), this::compareClocks);
    Periodic.start(upkeepThread, UPKEEP_POLL_MILLIS, this::upkeepIfDue);
    Periodic.start(loadsThread, LoadsWriter.PERIOD_MILLIS, this::tellMuxes);
  }

  /** Whether reads are answered. */
  public boolean isServing() {
    return reads.isServing();
  }

  /** Why it will never lead, if so. */
  public Optional<StoreException.NotOurs> refusal() {
    return leadership.refusal();
  }

  /** Whether this controller leads and has loaded every service, within {@code timeout}. */
  public boolean awaitLeader(Duration timeout) throws InterruptedException {
    return lead.await(timeout);
  }

  /** The connect string by which clients and muxes reach ZooKeeper. */
  public String zookeeper() {
    return store.address();
  }

  public InstantSource clock() {
    return options.clock();
  }

  /** The registry behind /metrics: {@code metrics().scrape()}. */
  public PrometheusMeterRegistry metrics() {
    return registry;
  }

  public Plane plane() {
    return reads;
  }

  public Services services() {
    return writes;
  }

  public Backends backends() {
    return writes;
  }

  public Drains drains() {
    return writes;
  }

  /** Settings of the whole cluster. */
  public Cluster cluster() {
    return new ClusterAccess(reads, writes);
  }

  public SettledServices settled() {
    return settled;
  }

  /** How far drains are, as known to this controller while it leads. */
  public DrainWatch drainWatch() {
    return drainWatch;
  }

  /** What probes find, and backends that health leaves alone. */
  public ProbeRoutes probes() {
    return new ProbeRoutes(health::views, writes);
  }

  public Upkeeps upkeeps() {
    return writes;
  }

  /** The live muxes by ascending id, as they last wrote their own nodes. */
  public Supplier<List<MuxView>> muxes() {
    return muxWatch::muxes;
  }

  /** The muxes that are added, alive or not. */
  public MuxList muxList() {
    return new MuxListAccess(muxWatch, writes, store::readersLogin);
  }

  public MetricsTargets targets() {
    return new MetricsTargets(
        () -> Leadership.candidates(leadership), () -> url, muxWatch::muxes, health::metrics);
  }

  /** How services steered by othello stand, as known to this controller while it leads. */
  public Function<String, Optional<OthelloStatus>> othello() {
    return othello::status;
  }

  /** The arrays of services steered by othello. */
  public Function<StoredService, Optional<CommittedArrays>> arrays() {
    return new ArraysCache(serviceStore);
  }

  public Agents agents() {
    return agents;
  }

  /** Records what agents were not allowed to report. */
  public AgentRoutes.Audit refusals() {
    return (who, what, why) -> {
      long epoch = lead.epoch().map(Epoch::number).orElse(0L);
      try {
        journal.record(notes.refused(epoch, who, what, why));
      } catch (StoreException e) {
        LOG.warn("{}", e.getMessage());
      }
    };
  }

  /** The connections on backends, as known to this controller while it leads. */
  public LiveConnections liveConnections() {
    return agentReports;
  }

  public AuditLog audit() {
    return (before, limit) -> {
      try {
        return journal.page(before, limit);
      } catch (StoreException e) {
        throw Unavailable.store(e);
      }
    };
  }

  /** A backup for the request of {@code Origin}, which leaves an audit record. */
  public Function<Origin, byte[]> backup() {
    return new LiveBackup(reads::services, serviceStore, muxStore, journal, notes);
  }

  /**
   * In place of {@link #start}: rebuilds the cluster from a backup in a ZooKeeper without services.
   *
   * @throws IllegalArgumentException if this ZooKeeper does not allow it
   * @throws StoreException if ZooKeeper fails; the restore can be run again, unless it is NotOurs
   */
  public void restore(Backup backup) throws IOException, StoreException {
    store.start();
    try {
      while (!store.awaitConnection(CONNECT)) {
        LOG.debug("{} waits for ZooKeeper", options.id());
      }
      store.checkOwn(options.protectsOpen());
      new Restore(store, tree, WRITE_DEADLINE)
          .run(
              backup.cluster(),
              backup.epoch(),
              new Restoration(backup, repository, muxStore, muxWatch, notes, options));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for ZooKeeper", e);
    }
  }

  @Override
  public void close() {
    lead.end();
    if (leadership != null) {
      leadership.close();
    }
    leaderWatch.close();
    serviceWatch.close();
    muxWatch.close();
    health.close();
    DaemonThreads.stop(clockThread);
    DaemonThreads.stop(upkeepThread);
    DaemonThreads.stop(loadsThread);
    DaemonThreads.stop(catalogueThread);
    DaemonThreads.stop(snapshotThread);
    DaemonThreads.stop(othelloThreads);
    DaemonThreads.stop(writerThreads);
    store.close();
    registry.close();
  }

  private void lead(Epoch epoch) throws StoreException {
    compareClocks(); // what is loaded is dated by it
    Catalogue loaded =
        Catalogue.load(
            repository,
            muxStore,
            epoch,
            clock,
            options.monotonic(),
            notes,
            random,
            this::writer,
            new Infrastructure(
                store.address(),
                () -> Infrastructure.controllers(leadership.candidates(), url, options.id()),
                muxWatch::muxes),
            serviceWatch::service);
    lead.load(loaded);
    serviceWatch.pause();
    agentReports.forget();
    settled.forget();
    settledWriter.forget();
    othello.forget();
    lead.begin();
    retention.tidy();
    LOG.info("leading in epoch {} with {} services", epoch.number(), loaded.writers().size());
  }

  private void follow() {
    lead.end();
    agentReports.forget();
    settled.forget();
    othello.forget();
    lead.last()
        .ifPresent(
            last ->
                serviceWatch.resume(
                    Maps.uniqueIndex(last.all(), each -> each.image().config().name())));
  }

  private Optional<AgentReports.Standing> standing(String service, int backend) {
    return lead.current()
        .flatMap(catalogue -> catalogue.find(service))
        .map(StoredService::image)
        .flatMap(
            image ->
                Optional.ofNullable(image.ring().backends().get(backend))
                    .map(at -> new AgentReports.Standing(image.config().id(), at.address())));
  }

  private ServiceWriter writer(Epoch epoch, Addresses addresses, StoredService stored) {
    return ServiceWriter.builder(repository, epoch, stored)
        .clock(clock)
        .notes(notes)
        .metrics(commits)
        .addresses(addresses)
        .live(agentReports, settled)
        .drains(drainWatch)
        .threads(writerThreads, snapshotThread)
        .build();
  }

  private Optional<ArraysWriter> arraysWriter(String service) {
    return lead.current().map(catalogue -> catalogue.writers().get(service));
  }

  /** Only submits: an iteration or step runs on its service's event thread. */
  private void upkeepIfDue() {
    if (session.isConnected()) {
      lead.current()
          .ifPresent(
              catalogue -> {
                clock.leadSeconds().ifPresent(catalogue::step);
                if (catalogue.hasExpired()) {
                  catalogueThread.execute(catalogue::removeExpired);
                }
                othello.step(catalogue.writers().keySet());
              });
    }
  }

  private void tellMuxes() {
    if (session.isConnected()) {
      lead.current()
          .ifPresent(
              catalogue -> {
                loads.step(
                    catalogue.epoch(), catalogue.all().stream().map(StoredService::image).toList());
                if (clock.leadSeconds().isPresent()) {
                  settledWriter.step(catalogue.epoch(), catalogue.latest());
                }
              });
    }
  }
}
