// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import com.google.common.base.Throwables;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.cluster.ClusterRules;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.Listeners;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.service.Addresses;
import io.fairlead.controller.service.ClockCheck;
import io.fairlead.controller.service.Notes;
import io.fairlead.controller.service.ServiceWriter;
import io.fairlead.controller.service.VipGuard;
import io.fairlead.controller.store.DaemonThreads;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.ServiceIds;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All services of one epoch by name. Decides what concerns more than one of them (names, ids and
 * VIPs), one request after another: the caller runs {@link #create}, {@link #put}, {@link #change},
 * {@link #delete}, {@link #undelete}, {@link #changeCluster} and {@link #removeExpired} on one
 * thread.
 */
final class Catalogue implements Images {
  private static final Logger LOG = LoggerFactory.getLogger(Catalogue.class);
  private static final int LOADED_AT_ONCE = 8;

  /** Makes the writer of a service. */
  interface Writers {
    ServiceWriter of(Addresses addresses, StoredService stored);
  }

  private final ServiceRepository repository;
  private final MuxEntries muxes;
  private final Epoch epoch;
  private final ClockCheck clock;
  private final LongSupplier monotonic;
  private final Notes notes;
  private final RandomGenerator random;
  private final Writers writerOf;
  private final ConcurrentNavigableMap<String, ServiceWriter> writers =
      new ConcurrentSkipListMap<>();

  /** Held from the start of a commit that is made here until reads show it. */
  private final Lock committing = new ReentrantLock();

  /** Whether ZooKeeper may differ from what is known here; changes while the lock is held. */
  private volatile boolean isUncertain;

  /** The service that exists if the latest commit of one took place. */
  private Optional<String> coming = Optional.empty();

  /**
   * Services that cannot be read, and why: their names stay taken, and other services are not
   * affected.
   */
  private final ConcurrentNavigableMap<String, String> damaged = new ConcurrentSkipListMap<>();

  private final DeletedServices deletedServices = new DeletedServices();
  private final VipGuard guard;
  private final Addresses addresses;

  /**
   * Without services: {@link #load} is called first.
   *
   * @param taken addresses that are no VIPs
   */
  Catalogue(Facilities from, Epoch epoch, Writers writerOf, Supplier<VipGuard.Taken> taken) {
    this.epoch = epoch;
    this.writerOf = writerOf;
    repository = from.repository;
    muxes = new MuxEntries(from.muxStore, epoch, from.notes);
    clock = from.clock;
    monotonic = from.options.monotonic();
    notes = from.notes;
    random = from.random;
    guard = new VipGuard(ClusterSettings.NONE, taken);
    addresses = new Addresses(this::images, guard);
  }

  /**
   * Reads every service, and removes what former leaders left half done. Several at once: each
   * takes a dozen round trips, which of a thousand services one after another were half a minute
   * without a leader.
   *
   * @param known of a service, if it has not changed since, saves reading it
   */
  void load(Function<String, Optional<StoredService>> known) throws StoreException {
    guard.set(repository.store().settings());
    ExecutorService readers =
        Executors.newFixedThreadPool(LOADED_AT_ONCE, DaemonThreads.named("load"));
    try {
      List<Future<Void>> loads = new ArrayList<>();
      for (String name : repository.store().names()) {
        loads.add(readers.submit(() -> load(name, known.apply(name))));
      }
      for (Future<Void> load : loads) {
        load.get();
      }
      // From a backup, or from before this was refused: it is served as it was.
      Addresses.shared(images())
          .forEach(
              each ->
                  LOG.warn("{}; allowed: one of the two, or muxes send packets to muxes", each));
    } catch (ExecutionException e) {
      Throwables.throwIfInstanceOf(e.getCause(), StoreException.class);
      Throwables.throwIfUnchecked(e.getCause());
      throw new StoreException("services were not loaded: " + e.getCause(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("services were not loaded: interrupted", e);
    } finally {
      readers.shutdownNow();
    }
  }

  /** A callable's, without a result. */
  private Void load(String name, Optional<StoredService> known) throws StoreException {
    Optional<StoredService> stored;
    try {
      stored = repository.readCommitted(name, known);
    } catch (StoreException.Damaged e) {
      LOG.error("{}", e.getMessage());
      damaged.put(name, e.getMessage());
      return null;
    }
    if (stored.isEmpty()) {
      keepOrRemove(name);
      return null;
    }
    repository.removeOld(epoch, stored.get());
    writers.put(name, writerOf.of(addresses, stored.get()));
    return null;
  }

  /** What is left of a service without a configuration. */
  private void keepOrRemove(String name) throws StoreException {
    Optional<ServiceStore.Deleted> deleted = Optional.empty();
    try {
      deleted = repository.store().deleted(name);
    } catch (StoreException.Damaged e) {
      LOG.error("{}", e.getMessage());
    }
    if (deleted.isPresent()) {
      long age = clock.age(deleted.get().at().getEpochSecond());
      deletedServices.add(deleted.get(), elapsed().minusSeconds(age), () -> {});
    } else {
      repository.store().removeRest(epoch, name);
    }
  }

  /** Waits for what is being committed. Whether what was committed before this call shows then. */
  boolean awaitShown() {
    committing.lock();
    try {
      if (isUncertain) {
        return false;
      }
    } finally {
      committing.unlock();
    }
    return writers.values().stream().allMatch(ServiceWriter::awaitShown);
  }

  private interface Step {
    void run() throws StoreException;
  }

  /** Commits and adopts what was committed. */
  private void commit(Step step) throws StoreException {
    committing.lock();
    try {
      isUncertain = true;
      step.run();
      isUncertain = false;
    } finally {
      committing.unlock();
    }
  }

  /** Whether {@link #settle} has to do anything. */
  boolean isUnsettled() {
    return isUncertain || writers.values().stream().anyMatch(ServiceWriter::isGone);
  }

  /**
   * Finds out what has become of commits of unknown outcome; called before anything else is done.
   */
  void settle() throws StoreException {
    if (isUncertain) {
      commit(
          () -> {
            guard.set(repository.store().settings());
            if (coming.isPresent()) {
              readAgain(coming.get());
            }
          });
    }
    writers.values().stream().filter(ServiceWriter::isGone).forEach(this::keepDeleted);
  }

  private void readAgain(String name) throws StoreException {
    try {
      repository.read(name).ifPresent(this::show);
    } catch (StoreException.Damaged e) {
      LOG.error("{}", e.getMessage());
      damaged.put(name, e.getMessage());
    }
    addresses.settle(name);
    coming = Optional.empty();
  }

  private List<ServiceImage> images() {
    return writers.values().stream().map(ServiceWriter::image).toList();
  }

  ConcurrentNavigableMap<String, ServiceWriter> writers() {
    return writers;
  }

  /** The service's writer, or a refusal that says why there is none. */
  ServiceWriter writer(String name) {
    return Optional.ofNullable(writers.get(name)).orElseThrow(() -> missing(name));
  }

  private static boolean isReadable(ServiceWriter writer) {
    return !writer.isGone() && writer.damage().isEmpty();
  }

  @Override
  public Collection<StoredService> all() {
    return writers.values().stream()
        .filter(Catalogue::isReadable)
        .map(ServiceWriter::stored)
        .toList();
  }

  /** Generations by id, of deleted services the highest; empty if a damaged one is not known. */
  Optional<Map<Integer, Long>> latest() {
    Map<Integer, Long> latest = new HashMap<>();
    images().forEach(image -> latest.put(image.config().id(), image.ring().generation()));
    deletedServices
        .idsWith(() -> images().stream().map(image -> image.config().id()).toList())
        .forEach(id -> latest.putIfAbsent(id, Long.MAX_VALUE));
    return damaged.isEmpty() ? Optional.of(latest) : Optional.empty();
  }

  /**
   * Which services have VIPs of this one, as muxes know them: deleted ones too, which a mux without
   * a session still serves. One that is unknown, as it is damaged, may have any.
   */
  SettledMoves.Sharing sharing(ServiceConfig of) {
    return name -> {
      Optional<ServiceImage> image = find(name).map(StoredService::image);
      Optional<ServiceConfig> config =
          image.map(ServiceImage::config).or(() -> deletedServices.config(name));
      return config.filter(other -> Collections.disjoint(of.vips(), other.vips())).isPresent()
          ? OptionalLong.empty()
          : OptionalLong.of(image.map(each -> each.ring().generation()).orElse(0L));
    };
  }

  @Override
  public Optional<StoredService> find(String name) {
    return Optional.ofNullable(writers.get(name))
        .filter(Catalogue::isReadable)
        .map(ServiceWriter::stored);
  }

  @Override
  public Optional<String> damage(String name) {
    return Optional.ofNullable(damaged.get(name))
        .or(() -> Optional.ofNullable(writers.get(name)).flatMap(ServiceWriter::damage));
  }

  /** Services that cannot be read, and why. */
  Map<String, String> damaged() {
    Map<String, String> all = new HashMap<>(damaged);
    writers.forEach((name, writer) -> writer.damage().ifPresent(why -> all.put(name, why)));
    return all;
  }

  Result create(ServiceSpec spec, WriteOptions options) throws StoreException {
    String name = spec.name().orElse("");
    if (isTaken(name)) {
      throw Refusal.conflict("name", name, "a name that no service has");
    }
    return create(spec, List.of(), options);
  }

  private Result create(ServiceSpec spec, List<Change.Add> pool, WriteOptions options)
      throws StoreException {
    options.precondition().check(Optional.empty());
    Instant now = clock.second(options);
    ServiceIds.Next next = DeletedServices.nextId(repository.store().serviceIds(), now);
    ServiceConfig config = ServiceRules.created(spec, next.id(), random);
    checkListeners(config);
    ClusterSettings settings = ClusterRules.with(guard.settings(), spec.vipRanges());
    ServiceImage image =
        ServiceImage.create(config, now.getEpochSecond()).startingAt(next.generation());
    Result result = Result.unmoved(image, options.dryRun());
    if (!pool.isEmpty()) {
      PoolPlan plan = PoolPlan.of(image, List.copyOf(pool), now, options);
      image = plan.after();
      result = plan.result();
    }
    result = result.asCreated().withWarnings(deletedServices.warnings(config, true, elapsed()));
    addresses.check(image, settings, now);
    if (!options.dryRun()) {
      ServiceRepository noting = repository.with(notes.of(epoch, options.origin(), result));
      ServiceImage created = image;
      Optional<ClusterSettings> changed =
          Optional.of(settings).filter(other -> !other.equals(guard.settings()));
      commitNew(created, settings, now, () -> noting.create(epoch, created, changed));
    }
    return result;
  }

  private interface Creation {
    StoredService run() throws StoreException;
  }

  /** Commits a service that exists from then on; its addresses are claimed until that is known. */
  private void commitNew(
      ServiceImage image, ClusterSettings settings, Instant now, Creation creation)
      throws StoreException {
    String name = image.config().name();
    addresses.claim(image, settings, now);
    coming = Optional.of(name);
    commit(
        () -> {
          StoredService created = creation.run();
          guard.set(settings);
          show(created);
          addresses.settle(name);
          coming = Optional.empty();
        });
  }

  /** Creates the service, or makes it what the specification says. */
  Result put(ServiceSpec spec, Optional<List<Change.Add>> pool, WriteOptions options)
      throws StoreException {
    String name = spec.name().orElse("");
    if (!isTaken(name)) {
      return create(spec, pool.orElse(List.of()), options);
    }
    ServiceWriter writer = writer(name);
    options.precondition().checkAbsent("there is a service '%s'".formatted(name));
    ServiceConfig wanted = ServiceRules.replaced(writer.image().config(), spec);
    if (!ClusterRules.with(guard.settings(), spec.vipRanges()).equals(guard.settings())) {
      throw Refusal.conflict(
          "vipRanges",
          String.join(", ", spec.vipRanges().orElseThrow()),
          "with a service that is created; PUT /v1/cluster sets them otherwise");
    }
    checkListeners(wanted);
    return warned(writer.image().config(), wanted, await(writer.put(wanted, pool, options)));
  }

  private boolean isTaken(String name) {
    return writers.containsKey(name) || damaged.containsKey(name);
  }

  MuxEntries muxes() {
    return muxes;
  }

  ClusterSettings settings() {
    return guard.settings();
  }

  /** Changes the settings of the whole cluster. */
  Result changeCluster(ClusterSettings settings, WriteOptions options) throws StoreException {
    if (settings.equals(guard.settings())) {
      return Result.unchanged("", 0, options.dryRun());
    }
    addresses.check(settings);
    Result result = Result.unmoved("", 0, options.dryRun());
    if (!options.dryRun()) {
      clock.second(options);
      ServiceStore noting = repository.with(notes.of(epoch, options.origin(), result)).store();
      commit(
          () -> {
            noting.changeSettings(epoch, settings);
            guard.set(settings);
          });
    }
    return result;
  }

  Result change(String name, ServiceSpec change, WriteOptions options) {
    ServiceWriter writer = writer(name);
    ServiceConfig before = writer.image().config();
    ServiceConfig changed = ServiceRules.changed(before, change);
    checkListeners(changed);
    return warned(before, changed, await(writer.changeConfig(changed, options)));
  }

  /** With what a change of VIPs or ports does to connections of deleted services. */
  private Result warned(ServiceConfig before, ServiceConfig after, Result result) {
    return before.vips().equals(after.vips()) && before.ports().equals(after.ports())
        ? result
        : result.withWarnings(deletedServices.warnings(after, false, elapsed()));
  }

  /** The rest of a deleted service stays for a while, for {@link #undelete}. */
  Result delete(String name, WriteOptions options) {
    ServiceWriter writer = writer(name);
    try {
      return await(writer.delete(options));
    } finally {
      // Also when only now it shows that an earlier attempt, whose answer was lost, has deleted it.
      if (writer.isGone()) {
        keepDeleted(writer);
      }
    }
  }

  private void keepDeleted(ServiceWriter writer) {
    Instant at = Instant.ofEpochSecond(clock.shownSeconds());
    deletedServices.add(
        new ServiceStore.Deleted(writer.image().config(), at),
        elapsed(),
        () -> writers.remove(writer.name()));
    removeExpired();
  }

  /** This controller leads: services do by themselves what is due. */
  void begin() {
    writers.values().forEach(ServiceWriter::begin);
  }

  /** Another controller leads. */
  void close() {
    writers.values().forEach(ServiceWriter::close);
  }

  /** The time by the monotonic clock. */
  private Duration elapsed() {
    return Duration.ofSeconds(monotonic.getAsLong());
  }

  boolean hasExpired() {
    return deletedServices.hasExpired(elapsed());
  }

  /** Removes deleted services that are kept no more. */
  void removeExpired() {
    deletedServices.expire(elapsed()).forEach(this::removeRest);
  }

  /** Brings a deleted service back as it was, in the next generation of its ring. */
  Result undelete(String name, WriteOptions options) throws StoreException {
    if (isTaken(name)) {
      throw Refusal.conflict("service", name, "a service that is deleted; this one exists");
    }
    options.precondition().check(Optional.empty());
    Duration at = elapsed();
    if (deletedServices.find(name, at).isEmpty()) {
      throw deletedServices.missing(name, at);
    }
    Optional<StoredService> again = repository.read(name);
    if (again.isPresent()) { // by an earlier attempt whose outcome was unknown
      show(again.get());
      return Result.unmoved(again.get().image(), false).asCreated();
    }
    Optional<StoredService> kept = repository.readDeleted(name);
    if (kept.isEmpty()) { // a new service was to take its place, and was not created
      deletedServices.remove(name, () -> {});
      throw deletedServices.missing(name, at);
    }
    StoredService before = kept.get();
    checkListeners(before.image().config());
    Instant now = before.image().nextCommit(clock.second(options));
    PoolPlan plan = PoolPlan.of(before.image(), Runs.EMPTY, now, options.dryRun());
    addresses.check(plan.after(), guard.settings(), now);
    Result result = plan.result().asCreated();
    if (!options.dryRun()) {
      ServiceRepository noting = repository.with(notes.of(epoch, options.origin(), result));
      commitNew(
          plan.after(),
          guard.settings(),
          now,
          () -> noting.commit(epoch, before, plan.after(), plan.delta()));
    }
    return result;
  }

  /** A service that exists from now on. */
  private void show(StoredService service) {
    String name = service.image().config().name();
    ServiceWriter writer = writerOf.of(addresses, service);
    deletedServices.remove(name, () -> writers.put(name, writer));
    writer.begin();
  }

  private void removeRest(String name) {
    try {
      repository.store().removeRest(epoch, name);
    } catch (StoreException e) {
      // The next service of that name, or the next leader, removes the rest.
      LOG.warn("{}", e.getMessage());
    }
  }

  private void checkListeners(ServiceConfig config) {
    for (ServiceWriter other : writers.values()) {
      ServiceConfig theirs = other.image().config();
      if (!theirs.name().equals(config.name())) {
        Listeners.shared(config, theirs)
            .ifPresent(
                what -> {
                  throw Refusal.conflict(
                      "vips",
                      what,
                      "an address and port that no other service has; '%s' has it"
                          .formatted(theirs.name()));
                });
      }
    }
  }

  private static Result await(CompletionStage<Result> stage) {
    try {
      return stage.toCompletableFuture().join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw e;
    }
  }
}
