// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import com.google.common.collect.Maps;
import io.fairlead.controller.backends.BackendView;
import io.fairlead.controller.backends.Change;
import io.fairlead.controller.explain.Explanation;
import io.fairlead.controller.explain.Flow;
import io.fairlead.controller.explain.RingView;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.metrics.CommitMetrics;
import io.fairlead.controller.metrics.StateMetrics;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.muxes.MuxWatch;
import io.fairlead.controller.plane.Health;
import io.fairlead.controller.plane.Origin;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.repository.Backup;
import io.fairlead.controller.repository.ServiceRepository;
import io.fairlead.controller.repository.StoredService;
import io.fairlead.controller.services.ServiceChange;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.services.ServiceView;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.EmbeddedZooKeeper;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.LeaderNode;
import io.fairlead.controller.store.LeaderWatch;
import io.fairlead.controller.store.Leadership;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.store.Restore;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.ServiceWatch;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.ZooKeeperAccess;
import io.fairlead.controller.store.ZooKeeperClient;
import io.fairlead.controller.upkeep.UpkeepOrder;
import io.fairlead.controller.upkeep.UpkeepView;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.state.ConnectionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control plane on ZooKeeper: opened by {@code Main}, asked by the REST API, closed at the end.
 * This class only wires: who leads is {@link Leadership}, all services are the {@link Catalogue},
 * one service is its {@link ServiceWriter}.
 *
 * <p>While another controller leads, reads are answered from what {@link ServiceWatch} follows, as
 * new as anything committed before them, and writes are refused: the API sends them to the leader.
 * While ZooKeeper cannot be reached, reads are answered from the last images, because the muxes
 * serve them too.
 */
public final class FairleadController implements ControlPlane, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FairleadController.class);
  private static final Duration WRITE_DEADLINE = Duration.ofSeconds(15);
  private static final Duration CATCH_UP_MAX = Duration.ofSeconds(2);
  private static final int WRITER_THREADS = 4;
  private static final long UPKEEP_POLL_MILLIS = 500;

  /**
   * @param zookeeper "embedded:DIR" or "host:port,..."
   * @param zookeeperListen of the embedded server's client port; port 0 picks a free one
   * @param root the tree in ZooKeeper, "/fairlead"
   * @param id of this controller in elections: a restart under the same id takes over from its own
   *     former life at once
   * @param access to a protected ZooKeeper; without it everybody may do everything there
   * @param writing what elects and writes by a client; itself, but in tests
   */
  public record Options(
      String zookeeper,
      InetSocketAddress zookeeperListen,
      String root,
      String id,
      Clock clock,
      Optional<ZooKeeperAccess> access,
      UnaryOperator<CuratorFramework> writing) {
    /** That elects and writes by its one client. */
    public Options(
        String zookeeper,
        InetSocketAddress zookeeperListen,
        String root,
        String id,
        Clock clock,
        Optional<ZooKeeperAccess> access) {
      this(zookeeper, zookeeperListen, root, id, clock, access, UnaryOperator.identity());
    }

    /** Without protection. */
    public Options(
        String zookeeper, InetSocketAddress zookeeperListen, String root, String id, Clock clock) {
      this(zookeeper, zookeeperListen, root, id, clock, Optional.empty());
    }
  }

  private final Options options;
  private final Tree tree;
  private final Clock clock;
  private final Optional<EmbeddedZooKeeper> embedded;
  private final String connectString;
  private final CuratorFramework client;
  private final CuratorFramework writing;
  private final ServiceStore store;
  private final ServiceRepository repository;
  private final Journal journal;
  private final Retention retention;
  private final Notes notes;
  private final ServiceWatch<StoredService> serviceWatch;
  private final LeaderWatch leaderWatch;
  private final MuxWatch muxWatch;
  private final SecureRandom random = new SecureRandom();
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final MetricsView metricsView;
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
  private final Object leading = new Object();

  /** Of the last epoch that this controller led in; null before the first. */
  private volatile Catalogue catalogue;

  private volatile Leadership leadership;
  private volatile boolean isLeader;
  private volatile ConnectionState connection = ConnectionState.LOST;

  private FairleadController(
      Options options, Optional<EmbeddedZooKeeper> embedded, String connectString) {
    this.options = options;
    this.clock = options.clock();
    this.metricsView = new MetricsView(clock);
    this.embedded = embedded;
    this.connectString = connectString;
    tree = new Tree(options.root());
    client = ZooKeeperClient.create(connectString, tree, options.access());
    client.getConnectionStateListenable().addListener((ignored, state) -> connected(state));
    writing = options.writing().apply(client);
    store = new ServiceStore(writing, tree, WRITE_DEADLINE);
    repository = new ServiceRepository(store);
    journal = new Journal(client, tree);
    retention = new Retention(journal, catalogueThread, this::epoch);
    notes = new Notes(options.id(), clock, retention::noted);
    serviceWatch = new ServiceWatch<>(client, tree, store, repository::readCommitted);
    leaderWatch = new LeaderWatch(client, tree);
    muxWatch = new MuxWatch(client, tree);
    registry.getPrometheusRegistry().register(new StateMetrics(this::state));
  }

  /** {@link #prepare} and {@link #start}, without an address for others. */
  public static FairleadController open(Options options) throws IOException {
    FairleadController controller = prepare(options);
    controller.start(Optional.empty());
    return controller;
  }

  /**
   * Starts the embedded server, if asked for. What is returned follows nobody and does not lead
   * before {@link #start}.
   *
   * @throws IllegalArgumentException for a bad option, with its name, value and what is allowed
   * @throws IOException if the embedded server cannot start
   */
  public static FairleadController prepare(Options options) throws IOException {
    ZooKeeperAddress address = ZooKeeperAddress.parse(options.zookeeper());
    Optional<EmbeddedZooKeeper> embedded = Optional.empty();
    if (address.directory().isPresent()) {
      embedded =
          Optional.of(
              EmbeddedZooKeeper.start(address.directory().get(), options.zookeeperListen()));
    }
    String connectString = embedded.map(EmbeddedZooKeeper::connectString).orElse(address.hosts());
    return new FairleadController(options, embedded, connectString);
  }

  /**
   * Begins to follow and to seek leadership; returns without waiting for either.
   *
   * @param url of this controller's API, for the others to send writes to while it leads
   */
  public void start(Optional<URI> url) {
    leadership =
        new Leadership(
            writing,
            tree,
            options.id(),
            url.map(URI::toString),
            options.access(),
            new Leadership.Listener() {
              @Override
              public void lead(Epoch epoch) throws StoreException {
                FairleadController.this.lead(epoch);
              }

              @Override
              public void follow() {
                FairleadController.this.follow();
              }
            });
    client.start();
    leaderWatch.start();
    muxWatch.start();
    serviceWatch.start();
    leadership.start();
    upkeepThread.scheduleWithFixedDelay(
        this::upkeepIfDue, UPKEEP_POLL_MILLIS, UPKEEP_POLL_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Whether reads are answered. */
  public boolean isServing() {
    return lastImages().isPresent();
  }

  /** Whether this controller leads and has loaded every service, within {@code timeout}. */
  public boolean awaitLeader(Duration timeout) throws InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    synchronized (leading) {
      while (!isLeader) {
        long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        if (left <= 0) {
          return false;
        }
        leading.wait(left);
      }
      return true;
    }
  }

  /** Where clients and muxes find ZooKeeper. */
  public String zookeeper() {
    return connectString;
  }

  /** The registry behind /metrics: {@code metrics().scrape()}. */
  public PrometheusMeterRegistry metrics() {
    return registry;
  }

  @Override
  public void confirm() {
    Catalogue last = catalogue;
    try {
      if (!isLeader) {
        serviceWatch.catchUp().get(CATCH_UP_MAX.toMillis(), TimeUnit.MILLISECONDS);
        return;
      }
      if (last != null && store.isLatest(last.epoch())) {
        last.awaitShown(); // others may have read what has just been committed here
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException | StoreException e) {
      LOG.debug("not confirmed: {}", e.toString());
    }
    throw Unavailable.notConfirmed();
  }

  @Override
  public List<ServiceView> services() {
    return images().all().stream().map(stored -> ImageViews.service(stored)).toList();
  }

  @Override
  public Optional<ServiceView> service(String name) {
    return images().find(name).map(stored -> ImageViews.service(stored));
  }

  @Override
  public CompletionStage<Result> createService(ServiceSpec spec, WriteOptions options) {
    return onCatalogue(() -> lead().create(spec, options));
  }

  @Override
  public CompletionStage<Result> changeService(
      String name, ServiceChange change, WriteOptions options) {
    return onCatalogue(() -> lead().change(name, change, options));
  }

  @Override
  public CompletionStage<Result> putService(
      ServiceSpec spec, Optional<List<Change.Add>> pool, WriteOptions options) {
    return onCatalogue(() -> lead().put(spec, pool, options));
  }

  @Override
  public CompletionStage<Result> deleteService(String name, WriteOptions options) {
    return onCatalogue(() -> lead().delete(name, options));
  }

  @Override
  public List<BackendView> backends(String service) {
    return counted(() -> ImageViews.backends(images().get(service).image()));
  }

  @Override
  public CompletionStage<Result> change(
      String service, List<Change> changes, WriteOptions options) {
    return onWriter(service, writer -> writer.change(List.copyOf(changes), options));
  }

  @Override
  public CompletionStage<Result> startUpkeep(
      String service, UpkeepOrder order, WriteOptions options) {
    return onWriter(service, writer -> writer.startUpkeep(order, options));
  }

  @Override
  public CompletionStage<Result> stopUpkeep(String service, WriteOptions options) {
    return onWriter(service, writer -> writer.stopUpkeep(options));
  }

  @Override
  public UpkeepView upkeep(String service) {
    return counted(() -> ImageViews.upkeep(images().get(service).image()));
  }

  @Override
  public RingView ring(String service) {
    return counted(() -> ImageViews.ring(images().get(service).image()));
  }

  @Override
  public Look look(String service) {
    return counted(() -> ImageViews.look(images().get(service)));
  }

  @Override
  public Explanation explain(String service, Flow flow) {
    long now = clock.instant().getEpochSecond();
    return counted(() -> ImageViews.explain(images().get(service).image(), flow, now));
  }

  @Override
  public List<MuxView> muxes() {
    return muxWatch.muxes();
  }

  @Override
  public Optional<KeptAnswer> answer(String key) {
    try {
      return journal.answer(key);
    } catch (StoreException e) {
      throw ServiceWriter.unavailable(e);
    }
  }

  @Override
  public Journal.Page audit(OptionalLong before, int limit) {
    try {
      return journal.page(before, limit);
    } catch (StoreException e) {
      throw ServiceWriter.unavailable(e);
    }
  }

  @Override
  public Health health() {
    return new Health(
        isLeader,
        Optional.ofNullable(catalogue).map(last -> last.epoch().number()).orElse(0L),
        switch (connection) {
          case CONNECTED, RECONNECTED, READ_ONLY -> "connected";
          case SUSPENDED -> "suspended";
          case LOST -> "lost";
        },
        lastImages().map(images -> images.all().size()).orElse(0),
        leaderWatch.leader().flatMap(LeaderNode::url).map(URI::create));
  }

  @Override
  public byte[] backup() {
    List<ServiceImage> all = images().all().stream().map(StoredService::image).toList();
    try {
      return Backup.of(
              store.cluster(),
              clock.instant().truncatedTo(ChronoUnit.SECONDS),
              store.epoch(),
              store.lastServiceId(),
              all)
          .json();
    } catch (StoreException e) {
      throw ServiceWriter.unavailable(e);
    }
  }

  /**
   * In place of {@link #start}: rebuilds the cluster from a backup in a ZooKeeper without services.
   *
   * @throws IllegalArgumentException if this ZooKeeper does not allow it
   * @throws IOException if ZooKeeper fails; the restore can be run again
   */
  public void restore(Backup backup) throws IOException {
    client.start();
    try {
      client.blockUntilConnected();
      Origin origin = Origin.controller("restore of the backup of " + backup.taken());
      List<ServiceImage> images = backup.restored();
      new Restore(client, tree, options.access(), WRITE_DEADLINE)
          .run(
              backup.cluster(),
              backup.epoch(),
              backup.lastServiceId(),
              epoch -> {
                for (ServiceImage image : images) {
                  Result result = ServiceWriter.unmoved(image, false);
                  repository.with(notes.of(epoch, origin, result)).create(epoch, image);
                }
              });
    } catch (StoreException e) {
      throw new IOException(e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for ZooKeeper", e);
    }
  }

  @Override
  public void close() {
    isLeader = false;
    if (leadership != null) {
      leadership.close();
    }
    leaderWatch.close();
    serviceWatch.close();
    muxWatch.close();
    stop(upkeepThread);
    stop(catalogueThread);
    stop(snapshotThread);
    stop(writerThreads);
    client.close();
    embedded.ifPresent(EmbeddedZooKeeper::close);
    registry.close();
  }

  private interface CatalogueTask {
    Result run() throws StoreException;
  }

  private void lead(Epoch epoch) throws StoreException {
    Catalogue loaded =
        Catalogue.load(
            repository, epoch, clock, notes, random, this::writer, serviceWatch::service);
    catalogue = loaded;
    serviceWatch.pause();
    synchronized (leading) {
      isLeader = true;
      leading.notifyAll();
    }
    retention.tidy();
    LOG.info("leading in epoch {} with {} services", epoch.number(), loaded.writers().size());
  }

  private void follow() {
    isLeader = false;
    if (catalogue != null) {
      serviceWatch.resume(Maps.uniqueIndex(catalogue.all(), each -> each.image().config().name()));
    }
  }

  private ServiceWriter writer(Epoch epoch, Addresses addresses, StoredService stored) {
    return new ServiceWriter(
        repository, epoch, clock, notes, commits, addresses, writerThreads, snapshotThread, stored);
  }

  /** Iterations are asked for here and run on their service's event thread. */
  private void upkeepIfDue() {
    Catalogue last = catalogue;
    if (isLeader && last != null && connection.isConnected()) {
      last.writers().values().forEach(ServiceWriter::upkeepIfDue);
    }
  }

  private void connected(ConnectionState state) {
    boolean wasConnected = connection.isConnected();
    connection = state;
    if (state.isConnected() && !wasConnected) {
      LOG.info("ZooKeeper {}: connected", connectString);
    } else if (!state.isConnected() && wasConnected) {
      LOG.warn("ZooKeeper {}: connection lost", connectString);
    }
  }

  /** The catalogue to write to. */
  private Catalogue lead() {
    Catalogue last = catalogue;
    if (!isLeader || last == null) {
      throw Unavailable.notLeading(connection);
    }
    return last;
  }

  /** That this controller leads in. */
  private Optional<Epoch> epoch() {
    return Optional.ofNullable(catalogue).filter(last -> isLeader).map(Catalogue::epoch);
  }

  /** What to read from, as new as what was committed before this call if ZooKeeper is there. */
  private Images images() {
    if (!isLeader && connection.isConnected()) {
      try {
        serviceWatch.catchUp().get(CATCH_UP_MAX.toMillis(), TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (ExecutionException | TimeoutException e) {
        LOG.debug("reading what is known: {}", e.toString());
      }
    }
    return lastImages().orElseThrow(() -> Unavailable.notLoaded(connection));
  }

  private Optional<Images> lastImages() {
    if (!isLeader && serviceWatch.isLoaded()) {
      return Optional.of(Images.of(serviceWatch));
    }
    return Optional.ofNullable(catalogue);
  }

  private CompletionStage<Result> onCatalogue(CatalogueTask task) {
    return counted(
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return task.run();
              } catch (StoreException e) {
                LOG.warn("{}", e.getMessage());
                throw ServiceWriter.unavailable(e);
              }
            },
            catalogueThread));
  }

  private CompletionStage<Result> onWriter(
      String service, Function<ServiceWriter, CompletionStage<Result>> write) {
    try {
      return counted(write.apply(lead().writer(service)));
    } catch (Refusal e) {
      return counted(CompletableFuture.failedStage(e));
    }
  }

  private CompletionStage<Result> counted(CompletionStage<Result> stage) {
    return stage.whenComplete(
        (result, failure) -> {
          Throwable cause =
              failure instanceof CompletionException && failure.getCause() != null
                  ? failure.getCause()
                  : failure;
          if (cause instanceof Refusal refusal) {
            commits.refused(refusal.kind());
          }
        });
  }

  private <T> T counted(Supplier<T> read) {
    try {
      return read.get();
    } catch (Refusal e) {
      commits.refused(e.kind());
      throw e;
    }
  }

  private StateMetrics.State state() {
    return metricsView.of(health(), lastImages().map(Images::all).orElse(List.of()), muxes());
  }

  private static void stop(ExecutorService executor) {
    executor.shutdown();
    try {
      if (!executor.awaitTermination(WRITE_DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
        executor.shutdownNow();
      }
    } catch (InterruptedException e) {
      executor.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
