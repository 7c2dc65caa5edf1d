// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.resources.agents.AgentReports;
import io.fairlead.controller.resources.agents.AgentRoutes;
import io.fairlead.controller.resources.agents.Agents;
import io.fairlead.controller.resources.agents.FakeConnectionReports;
import io.fairlead.controller.resources.audit.AuditLog;
import io.fairlead.controller.resources.audit.AuditRoutes;
import io.fairlead.controller.resources.backends.BackendRoutes;
import io.fairlead.controller.resources.backends.Backends;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.backends.PoolRules;
import io.fairlead.controller.resources.backup.BackupRoutes;
import io.fairlead.controller.resources.cluster.Cluster;
import io.fairlead.controller.resources.cluster.ClusterRoutes;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.drains.DrainRoutes;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.drains.Drains;
import io.fairlead.controller.resources.events.EventRoutes;
import io.fairlead.controller.resources.explain.ExplainRoutes;
import io.fairlead.controller.resources.generations.GenerationRoutes;
import io.fairlead.controller.resources.health.HealthRoutes;
import io.fairlead.controller.resources.inspect.InspectRoutes;
import io.fairlead.controller.resources.inspect.MuxAccess;
import io.fairlead.controller.resources.muxes.MemoryMuxes;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.MuxRoutes;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.othello.OthelloRoutes;
import io.fairlead.controller.resources.othello.OthelloStatus;
import io.fairlead.controller.resources.overview.OverviewRoutes;
import io.fairlead.controller.resources.plane.Health;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.probes.HealthHolds;
import io.fairlead.controller.resources.probes.HealthView;
import io.fairlead.controller.resources.probes.ProbeRoutes;
import io.fairlead.controller.resources.services.ServiceRoutes;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.Services;
import io.fairlead.controller.resources.targets.MetricsTargets;
import io.fairlead.controller.resources.targets.TargetRoutes;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.resources.upkeep.UpkeepRoutes;
import io.fairlead.controller.resources.upkeep.Upkeeps;
import io.fairlead.controller.resources.whoami.WhoAmIRoutes;
import io.fairlead.controller.store.AuditEntry;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Generations;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.Note;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.store.ServiceState;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.repository.StoredService;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The control plane without ZooKeeper, so that tests of the API can stop it, break it and see all
 * of its state: the real rules and plans over services in memory.
 */
public final class MemoryPlane
    implements Plane, Services, Backends, Cluster, Drains, HealthHolds, Upkeeps, AuditLog {
  private static final Epoch EPOCH = new Epoch(3, Version.after(3));
  private static final byte[] BACKUP =
      """
      {"format":3,"cluster":"000102030405060708090a0b0c0d0e0f","taken":"2025-01-01T00:00:00Z",
       "epoch":3,"serviceIds":{"format":1,"last":0,"first":1,"free":{}},"services":[]}\
      """
          .getBytes(StandardCharsets.UTF_8);

  private final Map<String, StoredService> services = new TreeMap<>();
  private final Map<String, ServiceImage> deleted = new TreeMap<>();
  private final List<Journal.Numbered> records = new ArrayList<>();
  private final Map<String, KeptAnswer> kept = new TreeMap<>();
  private final List<HealthView> health = new ArrayList<>();
  private final MemoryMuxes muxes = new MemoryMuxes();
  private final Function<String, Optional<OthelloStatus>> othello =
      name ->
          Optional.of(get(name))
              .filter(service -> service.image().config().othello().isPresent())
              .map(OthelloStatus::beginning);
  public final FakeConnectionReports connectionReports = new FakeConnectionReports();
  private final Random random = new Random(1);
  private AgentReports agentReports =
      new AgentReports(this::standing, System::nanoTime, random::nextLong);
  private final SettledServices settled =
      new SettledServices(
          () ->
              new MuxPresence(
                  muxes.alive().stream()
                      .map(mux -> new MuxPresence.Present(mux, MuxPresence.BEHIND_SECONDS_DEFAULT))
                      .toList(),
                  List.of(),
                  0),
          () -> TimeUnit.NANOSECONDS.toSeconds(System.nanoTime()),
          committed -> InstantSource.system().instant().getEpochSecond() - committed,
          SettledMoves.Told.AT_ONCE,
          config -> SettledMoves.Sharing.NONE);
  private DrainWatch drainWatch = new DrainWatch(agentReports, settled, System::nanoTime);
  private Agents agents = new Agents(this, agentReports, connectionReports);
  private ClusterSettings settings = ClusterSettings.NONE;
  private int lastId;
  private Optional<Refusal> outage = Optional.empty();
  private Optional<URI> leaderUrl = Optional.empty();
  private volatile Runnable whenRead = () -> {};
  private Optional<RuntimeException> defect = Optional.empty();
  private Runnable meanwhile = () -> {};
  private int chained;

  /** The resources of a controller, over this plane. */
  public List<Resource> resources() {
    Supplier<List<MuxView>> live = muxes::alive;
    return List.of(
        new ServiceRoutes(this, this, live),
        new BackendRoutes(this, live),
        new ClusterRoutes(this),
        new DrainRoutes(this, this, () -> drainWatch),
        new ProbeRoutes(() -> List.copyOf(health), this),
        new UpkeepRoutes(this),
        new ExplainRoutes(
            this,
            () -> agentReports,
            service -> Optional.empty(),
            () -> settled,
            InstantSource.system()),
        new MuxRoutes(muxes, new Random(1)),
        new InspectRoutes(live, MuxAccess.NONE),
        new OverviewRoutes(this, live, () -> agents, () -> List.copyOf(health)),
        new TargetRoutes(
            new MetricsTargets(() -> List.of("c1/10.1.0.5:8080"), Optional::empty, live, Map::of)),
        new OthelloRoutes(this, othello),
        new AgentRoutes(() -> agents, this::refused),
        new EventRoutes(this, live, () -> drainWatch),
        new AuditRoutes(this),
        new BackupRoutes(this::backup),
        new GenerationRoutes(),
        new WhoAmIRoutes(),
        new HealthRoutes(this));
  }

  private synchronized void refused(String who, String what, String why) {
    AuditEntry entry =
        new Notes("memory", InstantSource.system()).refused(EPOCH.number(), who, what, why);
    records.add(0, new Journal.Numbered(records.size(), entry));
  }

  /** What agents report to this plane. */
  public AgentReports agentReports() {
    return agentReports;
  }

  private synchronized Optional<AgentReports.Standing> standing(String service, int backend) {
    return Optional.ofNullable(services.get(service))
        .flatMap(
            stored ->
                Optional.ofNullable(stored.image().ring().backends().get(backend))
                    .map(
                        at ->
                            new AgentReports.Standing(stored.image().config().id(), at.address())));
  }

  private synchronized byte[] backup(Origin origin) {
    AuditEntry read = new Notes("memory", InstantSource.system()).read(EPOCH.number(), origin);
    records.add(0, new Journal.Numbered(records.size(), read));
    return BACKUP;
  }

  /** As if new. */
  public synchronized void clear() {
    services.clear();
    muxes.clear();
    health.clear();
    agentReports = new AgentReports(this::standing, System::nanoTime, random::nextLong);
    drainWatch = new DrainWatch(agentReports, settled, System::nanoTime);
    agents = new Agents(this, agentReports, connectionReports);
    records.clear();
    kept.clear();
    lastId = 0;
    settings = ClusterSettings.NONE;
    meanwhile = () -> {};
    chain(0);
    leaderUrl = Optional.empty();
    zookeeperBack();
  }

  /** Another controller leads from now on. */
  public synchronized void follow(URI leader) {
    leaderUrl = Optional.of(leader);
  }

  /** Writes fail from now on, as while ZooKeeper is unavailable. */
  public synchronized void zookeeperAway() {
    outage =
        Optional.of(
            new Refusal(
                Refusal.Kind.UNAVAILABLE, "zookeeper", "suspended", "a connected ZooKeeper"));
  }

  public synchronized void zookeeperBack() {
    outage = Optional.empty();
  }

  /** The next read of one service fails as a defect would. */
  public synchronized void breakNextRead() {
    defect = Optional.of(new IllegalStateException("secret of the inside"));
  }

  /** So many buckets of each further change have former owners. */
  public synchronized void chain(int chained) {
    this.chained = chained;
  }

  public void mux(MuxView mux) {
    muxes.put(mux);
  }

  public MemoryMuxes muxes() {
    return muxes;
  }

  /** Everything that a write could have changed. */
  public synchronized Map<String, StoredService> state() {
    return Map.copyOf(services);
  }

  /** Runs at the start of each read of all services. */
  public void whenRead(Runnable what) {
    whenRead = what;
  }

  /** Runs once, while the next read of one service is answered. */
  public synchronized void meanwhile(Runnable change) {
    meanwhile = change;
  }

  @Override
  public synchronized void confirm() {
    checkZooKeeper();
  }

  @Override
  public Collection<StoredService> services() {
    whenRead.run();
    return state().values().stream()
        .sorted((one, other) -> name(one).compareTo(name(other)))
        .toList();
  }

  @Override
  public synchronized <T> T read(String service, Function<StoredService, T> view) {
    if (defect.isPresent()) {
      RuntimeException e = defect.get();
      defect = Optional.empty();
      throw e;
    }
    StoredService read = get(service);
    Runnable next = meanwhile;
    meanwhile = () -> {};
    next.run();
    return view.apply(read);
  }

  @Override
  public synchronized Health health() {
    return new Health(
        outage.isEmpty() && leaderUrl.isEmpty(),
        EPOCH.number(),
        outage.isEmpty() ? "connected" : "suspended",
        services.size(),
        leaderUrl);
  }

  @Override
  public boolean isServing() {
    return true;
  }

  @Override
  public synchronized Optional<KeptAnswer> answer(String key) {
    return Optional.ofNullable(kept.get(key));
  }

  @Override
  public synchronized Journal.Page page(OptionalLong before, int limit) {
    List<Journal.Numbered> older =
        records.stream().filter(r -> r.number() < before.orElse(Long.MAX_VALUE)).toList();
    List<Journal.Numbered> page = older.stream().limit(limit).toList();
    return new Journal.Page(
        page,
        page.size() < older.size()
            ? OptionalLong.of(page.get(page.size() - 1).number())
            : OptionalLong.empty());
  }

  @Override
  public synchronized CompletionStage<Result> createService(
      ServiceSpec spec, WriteOptions options) {
    return write(options, () -> create(spec, List.of(), options));
  }

  private Planned create(ServiceSpec spec, List<Change.Add> pool, WriteOptions options) {
    if (services.containsKey(spec.name().orElseThrow())) {
      throw Refusal.conflict("name", spec.name().get(), "a name that no service has");
    }
    options.precondition().check(Optional.empty());
    long now = now();
    ServiceImage image =
        ServiceImage.create(ServiceRules.created(spec, lastId + 1, new Random(lastId)), now);
    Planned planned =
        pool.isEmpty()
            ? new Planned(image, Images.unmoved(image, options.dryRun()))
            : Planned.of(PoolPlan.of(image, List.copyOf(pool), now, options));
    return new Planned(planned.after(), planned.result().asCreated());
  }

  @Override
  public synchronized CompletionStage<Result> changeService(
      String name, ServiceSpec change, WriteOptions options) {
    return write(
        options,
        () -> {
          ServiceImage image = checked(name, options);
          Readied readied =
              Readied.of(image, ServiceRules.changed(image.config(), change), now(), options);
          Result unmoved = Images.unmoved(readied.image(), options.dryRun());
          return new Planned(readied.image(), unmoved.with(readied.hold()));
        });
  }

  @Override
  public synchronized CompletionStage<Result> putService(
      ServiceSpec spec, Optional<List<Change.Add>> pool, WriteOptions options) {
    return write(
        options,
        () -> {
          if (!services.containsKey(spec.name().orElseThrow())) {
            return create(spec, pool.orElse(List.of()), options);
          }
          options.precondition().checkAbsent("there is a service");
          ServiceImage image = checked(spec.name().get(), options);
          ServiceImage wanted = image.withConfig(ServiceRules.replaced(image.config(), spec));
          List<Change> changes =
              pool.map(members -> PoolRules.difference(image.pool(), members)).orElse(List.of());
          if (!changes.isEmpty()) {
            return Planned.of(PoolPlan.of(wanted, changes, now(), options));
          }
          Result unmoved = Images.unmoved(wanted, options.dryRun());
          return new Planned(
              wanted,
              wanted.config().equals(image.config())
                  ? Result.unchanged(unmoved.service(), unmoved.generation(), unmoved.dryRun())
                  : unmoved);
        });
  }

  @Override
  public synchronized CompletionStage<Result> deleteService(String name, WriteOptions options) {
    return write(
        options,
        () -> {
          ServiceImage image = checked(name, options);
          if (!options.dryRun()) {
            deleted.put(name, image);
          }
          Result unmoved = Images.unmoved(image, options.dryRun());
          return new Planned(null, unmoved.with(new Result.Ended(0, image.pool().size())));
        });
  }

  @Override
  public synchronized CompletionStage<Result> undeleteService(String name, WriteOptions options) {
    return write(
        options,
        () -> {
          ServiceImage image = deleted.get(name);
          if (image == null) {
            throw new Refusal(Refusal.Kind.NOT_FOUND, "service", name, "a deleted service");
          }
          return Planned.of(PoolPlan.of(image, Runs.EMPTY, now(), options.dryRun()));
        });
  }

  @Override
  public synchronized ClusterSettings settings() {
    return settings;
  }

  /** Any VIPs are allowed here: the guard is ZooKeeper's controller's. */
  @Override
  public synchronized CompletionStage<Result> changeCluster(
      ClusterSettings asked, WriteOptions options) {
    try {
      checkZooKeeper();
    } catch (Refusal refusal) {
      return CompletableFuture.failedFuture(refusal);
    }
    if (!options.dryRun()) {
      settings = asked;
    }
    return CompletableFuture.completedFuture(Result.unmoved("", 0, options.dryRun()));
  }

  @Override
  public synchronized CompletionStage<Result> change(
      String service, List<Change> changes, WriteOptions options) {
    return write(
        options,
        () -> {
          ServiceImage image = checked(service, options);
          PoolRules.checkAbsent(image, changes, options.precondition());
          Planned plan = Planned.of(PoolPlan.of(image, changes, now(), options));
          Result result = plan.result();
          Result.Moved moved =
              new Result.Moved(
                  result.movedBuckets(),
                  chained,
                  result.owners(),
                  result.moved().moves(),
                  result.moved().eitherShare(),
                  List.of(),
                  Optional.empty());
          return chained > 0
              ? new Planned(plan.after(), result.with(moved, result.shares()))
              : plan;
        });
  }

  @Override
  public synchronized CompletionStage<Result> drain(
      String service, DrainOrder order, WriteOptions options) {
    return write(
        options,
        () -> {
          PoolPlan plan = PoolPlan.drain(checked(service, options), order, now(), options);
          return Planned.of(plan.withDrains(drainWatch.plan(plan.after(), order.ids())));
        });
  }

  @Override
  public synchronized CompletionStage<Result> undrain(
      String service, List<Integer> ids, WriteOptions options) {
    return write(
        options,
        () -> Planned.of(PoolPlan.undrain(checked(service, options), ids, now(), options)));
  }

  @Override
  public synchronized CompletionStage<Result> holdHealth(
      String service, List<Integer> ids, boolean held, WriteOptions options) {
    return write(
        options,
        () ->
            Planned.of(PoolPlan.holdHealth(checked(service, options), ids, held, now(), options)));
  }

  /** What the leader is to say of health. */
  public synchronized void health(HealthView view) {
    health.add(view);
  }

  @Override
  public synchronized CompletionStage<Result> startUpkeep(
      String service, UpkeepOrder order, WriteOptions options) {
    return write(
        options,
        () ->
            Planned.of(
                new UpkeepPlan().start(checked(service, options), order, now(), options.dryRun())));
  }

  @Override
  public synchronized CompletionStage<Result> stopUpkeep(String service, WriteOptions options) {
    return write(
        options,
        () -> {
          ServiceImage image = checked(service, options);
          if (image.upkeep().filter(UpkeepState::isRunning).isEmpty()) {
            return new Planned(
                image, Result.unchanged(service, image.ring().generation(), options.dryRun()));
          }
          ServiceImage after = image.withUpkeep(image.upkeep().get().stopped());
          return Planned.of(PoolPlan.of(after, Runs.EMPTY, now(), options.dryRun()));
        });
  }

  /** {@code after} is null for a service that is deleted. */
  private record Planned(ServiceImage after, Result result) {
    static Planned of(PoolPlan plan) {
      return new Planned(plan.after(), plan.result());
    }
  }

  private CompletionStage<Result> write(WriteOptions options, Supplier<Planned> plan) {
    try {
      checkZooKeeper();
      Planned planned = plan.get();
      if (!options.dryRun()) {
        commit(planned);
        Note note =
            new Notes("memory", InstantSource.system())
                .of(EPOCH, options.origin(), planned.result());
        records.add(0, new Journal.Numbered(records.size(), note.entry()));
        note.kept().ifPresent(answer -> kept.put(answer.key(), answer));
      }
      return CompletableFuture.completedFuture(planned.result());
    } catch (Refusal refusal) {
      return CompletableFuture.failedFuture(refusal);
    }
  }

  private void commit(Planned planned) {
    String name = planned.result().service();
    StoredService before = services.get(name);
    if (planned.after() == null) {
      services.remove(name);
      return;
    }
    lastId = Math.max(lastId, planned.after().config().id());
    Version version =
        before == null ? Version.CREATED : before.state().configVersion().orElseThrow();
    boolean isSame =
        before == null
            || before.image().ring().generation() != planned.result().generation()
                && planned.after().config().equals(before.image().config())
            || !planned.result().changed();
    ServiceImage after = planned.after();
    settled.see(after);
    Generations generations = new Generations(after.ring().generation(), Version.CREATED, 0, 0, 0);
    services.put(
        name,
        new StoredService(
            after,
            new ServiceState(
                after.config(),
                Optional.of(isSame ? version : version.next()),
                after.progress(),
                generations,
                Optional.empty())));
  }

  private ServiceImage checked(String name, WriteOptions options) {
    StoredService service = get(name);
    options.precondition().check(Optional.of(service.version()));
    return service.image();
  }

  private StoredService get(String name) {
    return Optional.ofNullable(services.get(name)).orElseThrow(() -> Images.notFound(name));
  }

  private void checkZooKeeper() {
    outage.ifPresent(
        refusal -> {
          throw refusal;
        });
  }

  private static String name(StoredService service) {
    return service.image().config().name();
  }

  private static long now() {
    return InstantSource.system().instant().getEpochSecond();
  }
}
