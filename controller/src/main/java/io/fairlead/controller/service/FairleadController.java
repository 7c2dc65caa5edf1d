// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.metrics.CommitMetrics;
import io.fairlead.controller.metrics.StateMetrics;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.EmbeddedZooKeeper;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Leadership;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.StoredService;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.ZooKeeperClient;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.state.ConnectionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control plane on ZooKeeper: opened by {@code Main}, asked by the REST API, closed at the end.
 * This class only wires: who leads is {@link Leadership}, all services are the {@link Catalogue},
 * one service is its {@link ServiceWriter}.
 *
 * <p>While another controller leads, everything but health, muxes and metrics is refused. While
 * ZooKeeper cannot be reached, reads are answered from the last images, because the muxes serve
 * them too.
 */
public final class FairleadController implements ControlPlane, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FairleadController.class);
  private static final Duration WRITE_DEADLINE = Duration.ofSeconds(15);
  private static final int WRITER_THREADS = 4;

  /**
   * @param zookeeper "embedded:DIR" or "host:port,..."
   * @param zookeeperListen of the embedded server's client port; port 0 picks a free one
   * @param root the tree in ZooKeeper, "/fairlead"
   * @param id of this controller in elections: a restart under the same id takes over from its own
   *     former life at once
   */
  public record Options(
      String zookeeper, InetSocketAddress zookeeperListen, String root, String id, Clock clock) {}

  private final Clock clock;
  private final Optional<EmbeddedZooKeeper> embedded;
  private final String connectString;
  private final CuratorFramework client;
  private final ServiceStore store;
  private final Notes notes;
  private final Leadership leadership;
  private final MuxWatch muxWatch;
  private final SecureRandom random = new SecureRandom();
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final CommitMetrics commitMetrics = new CommitMetrics(registry);
  private final ExecutorService catalogueThread =
      Executors.newSingleThreadExecutor(DaemonThreads.named("catalogue"));
  private final ExecutorService writerThreads =
      Executors.newFixedThreadPool(WRITER_THREADS, DaemonThreads.named("writer"));
  private final Object leading = new Object();

  /** Of the last epoch that this controller led in; null before the first. */
  private volatile Catalogue catalogue;

  private volatile boolean isLeader;
  private volatile ConnectionState connection = ConnectionState.LOST;

  private FairleadController(
      Options options, Optional<EmbeddedZooKeeper> embedded, String connectString) {
    this.clock = options.clock();
    this.embedded = embedded;
    this.connectString = connectString;
    Tree tree = new Tree(options.root());
    client = ZooKeeperClient.create(connectString);
    client.getConnectionStateListenable().addListener((ignored, state) -> connected(state));
    store = new ServiceStore(client, tree, WRITE_DEADLINE);
    notes = new Notes(options.id(), clock);
    muxWatch = new MuxWatch(client, tree);
    leadership =
        new Leadership(
            client,
            tree,
            options.id(),
            new Leadership.Listener() {
              @Override
              public void lead(Epoch epoch) throws StoreException {
                FairleadController.this.lead(epoch);
              }

              @Override
              public void follow() {
                isLeader = false;
              }
            });
    registry.getPrometheusRegistry().register(new StateMetrics(this::state));
  }

  /**
   * Starts the embedded server, if asked for, and begins to seek leadership; returns without
   * waiting for it.
   *
   * @throws IllegalArgumentException for a bad option, with its name, value and what is allowed
   * @throws IOException if the embedded server cannot start
   */
  public static FairleadController open(Options options) throws IOException {
    ZooKeeperAddress address = ZooKeeperAddress.parse(options.zookeeper());
    Optional<EmbeddedZooKeeper> embedded = Optional.empty();
    if (address.directory().isPresent()) {
      embedded =
          Optional.of(
              EmbeddedZooKeeper.start(address.directory().get(), options.zookeeperListen()));
    }
    String connectString = embedded.map(EmbeddedZooKeeper::connectString).orElse(address.hosts());
    FairleadController controller = new FairleadController(options, embedded, connectString);
    controller.client.start();
    controller.muxWatch.start();
    controller.leadership.start();
    return controller;
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
  public List<ServiceView> services() {
    return read().writers().values().stream()
        .map(writer -> ImageViews.service(writer.stored()))
        .toList();
  }

  @Override
  public Optional<ServiceView> service(String name) {
    return Optional.ofNullable(read().writers().get(name))
        .map(writer -> ImageViews.service(writer.stored()));
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
    return counted(() -> ImageViews.backends(read().writer(service).image()));
  }

  @Override
  public CompletionStage<Result> change(
      String service, List<Change> changes, WriteOptions options) {
    try {
      return counted(lead().writer(service).change(List.copyOf(changes), options));
    } catch (Refusal e) {
      return counted(CompletableFuture.failedStage(e));
    }
  }

  @Override
  public RingView ring(String service) {
    return counted(() -> ImageViews.ring(read().writer(service).image()));
  }

  @Override
  public Explanation explain(String service, Flow flow) {
    long now = clock.instant().getEpochSecond();
    return counted(() -> ImageViews.explain(read().writer(service).image(), flow, now));
  }

  @Override
  public List<MuxView> muxes() {
    return muxWatch.muxes();
  }

  @Override
  public Health health() {
    Catalogue last = catalogue;
    return new Health(
        isLeader,
        last == null ? 0 : last.epoch().number(),
        switch (connection) {
          case CONNECTED, RECONNECTED, READ_ONLY -> "connected";
          case SUSPENDED -> "suspended";
          case LOST -> "lost";
        },
        last == null ? 0 : last.writers().size());
  }

  @Override
  public void close() {
    isLeader = false;
    leadership.close();
    muxWatch.close();
    stop(catalogueThread);
    stop(writerThreads);
    client.close();
    embedded.ifPresent(EmbeddedZooKeeper::close);
    registry.close();
  }

  private interface CatalogueTask {
    Result run() throws StoreException;
  }

  private void lead(Epoch epoch) throws StoreException {
    Catalogue loaded = Catalogue.load(store, epoch, clock, notes, random, this::writer);
    catalogue = loaded;
    synchronized (leading) {
      isLeader = true;
      leading.notifyAll();
    }
    LOG.info("leading in epoch {} with {} services", epoch.number(), loaded.writers().size());
  }

  private ServiceWriter writer(Epoch epoch, StoredService stored) {
    return new ServiceWriter(store, epoch, clock, notes, commitMetrics, writerThreads, stored);
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
      throw notLeading();
    }
    return last;
  }

  /** The catalogue to read from. */
  private Catalogue read() {
    Catalogue last = catalogue;
    if (last == null || (!isLeader && connection.isConnected())) {
      throw notLeading();
    }
    return last;
  }

  private Refusal notLeading() {
    return new Refusal(
        Refusal.Kind.UNAVAILABLE,
        "controller",
        connection.isConnected() ? "does not lead" : "has no connection with ZooKeeper",
        "the controller that leads");
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

  private CompletionStage<Result> counted(CompletionStage<Result> stage) {
    return stage.whenComplete(
        (result, failure) -> {
          Throwable cause =
              failure instanceof CompletionException && failure.getCause() != null
                  ? failure.getCause()
                  : failure;
          if (cause instanceof Refusal refusal) {
            commitMetrics.refused(refusal.kind());
          }
        });
  }

  private <T> T counted(Supplier<T> read) {
    try {
      return read.get();
    } catch (Refusal e) {
      commitMetrics.refused(e.kind());
      throw e;
    }
  }

  private StateMetrics.State state() {
    Health health = health();
    Catalogue last = catalogue;
    List<ServiceWriter> writers = last == null ? List.of() : List.copyOf(last.writers().values());
    return new StateMetrics.State(
        new StateMetrics.Controller(health.leader(), health.epoch(), connection.isConnected()),
        writers.stream()
            .map(ServiceWriter::image)
            .map(
                image ->
                    new StateMetrics.Service(
                        image.config().name(),
                        image.ring().generation(),
                        image.pool().size(),
                        image.ring().buckets()))
            .toList(),
        muxes().stream()
            .flatMap(
                mux ->
                    mux.services().entrySet().stream()
                        .map(
                            service ->
                                new StateMetrics.Applied(
                                    mux.id(), service.getKey(), service.getValue().generation())))
            .toList());
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
