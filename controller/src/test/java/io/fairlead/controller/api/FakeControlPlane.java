// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.fairlead.controller.backends.BackendView;
import io.fairlead.controller.backends.Change;
import io.fairlead.controller.explain.Explanation;
import io.fairlead.controller.explain.Flow;
import io.fairlead.controller.explain.Owner;
import io.fairlead.controller.explain.RingView;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.plane.Health;
import io.fairlead.controller.plane.Move;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.Share;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.service.ControlPlane;
import io.fairlead.controller.service.Notes;
import io.fairlead.controller.services.MptcpPorts;
import io.fairlead.controller.services.QuicServerId;
import io.fairlead.controller.services.ServiceChange;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.services.ServiceView;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.Note;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.upkeep.UpkeepOrder;
import io.fairlead.controller.upkeep.UpkeepView;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A control plane in memory, so that the API and the CLI can be tested without ZooKeeper. It hands
 * out buckets in order of backend ids, in proportion to the weights; nothing in the tests depends
 * on more than the sums.
 */
public final class FakeControlPlane implements ControlPlane {
  private record Pool(ServiceView view, TreeMap<Integer, BackendView> backends, int[] ring) {}

  private final Map<String, Pool> pools = new TreeMap<>();
  private final List<Journal.Numbered> records = new ArrayList<>();
  private final Map<String, KeptAnswer> kept = new TreeMap<>();
  private int lastId;
  private int chained;
  private int returned;
  private Optional<Refusal> outage = Optional.empty();
  private Optional<URI> leaderUrl = Optional.empty(); // of whom this one follows
  private volatile Runnable whenRead = () -> {};
  private Optional<RuntimeException> defect = Optional.empty();
  private Runnable meanwhile = () -> {};
  private final List<MuxView> muxes = new ArrayList<>();

  /** As it was new. */
  public synchronized void clear() {
    pools.clear();
    muxes.clear();
    records.clear();
    kept.clear();
    lastId = 0;
    meanwhile = () -> {};
    chain(0, 0);
    leaderUrl = Optional.empty();
    zookeeperBack();
  }

  /** Somebody else leads from now on. */
  public synchronized void follow(URI leader) {
    leaderUrl = Optional.of(leader);
  }

  /** Writes are refused from now on, as while ZooKeeper is away. */
  public synchronized void zookeeperAway() {
    outage =
        Optional.of(
            new Refusal(
                Refusal.Kind.UNAVAILABLE, "zookeeper", "suspended", "a connected ZooKeeper"));
  }

  public synchronized void zookeeperBack() {
    outage = Optional.empty();
  }

  /** The next look at one service, which only requests do, fails as a defect would. */
  public synchronized void breakNextLook() {
    defect = Optional.of(new IllegalStateException("secret of the inside"));
  }

  /** So many buckets of each further change have moved before, and so many of those return. */
  public synchronized void chain(int chained, int returned) {
    this.chained = chained;
    this.returned = returned;
  }

  public synchronized void mux(MuxView mux) {
    muxes.add(mux);
  }

  /** Everything that a write could have changed. */
  public synchronized String state() {
    StringBuilder state = new StringBuilder();
    for (Pool pool : pools.values()) {
      state.append(pool.view()).append(pool.backends()).append(Arrays.hashCode(pool.ring()));
    }
    return state.toString();
  }

  @Override
  public synchronized void confirm() {
    outage.ifPresent(
        refusal -> {
          throw refusal;
        });
  }

  /** Runs at the begin of each read of all services, whoever reads. */
  void whenRead(Runnable what) {
    whenRead = what;
  }

  @Override
  public List<ServiceView> services() {
    whenRead.run();
    return all();
  }

  private synchronized List<ServiceView> all() {
    return pools.values().stream().map(Pool::view).toList();
  }

  @Override
  public synchronized Optional<ServiceView> service(String name) {
    if (defect.isPresent()) {
      RuntimeException e = defect.get();
      defect = Optional.empty();
      throw e;
    }
    return Optional.ofNullable(pools.get(name)).map(Pool::view);
  }

  @Override
  public synchronized CompletionStage<Result> createService(
      ServiceSpec spec, WriteOptions options) {
    return write(
        options,
        () -> {
          options.precondition().check(Optional.empty());
          if (pools.containsKey(spec.name())) {
            throw new Refusal(
                Refusal.Kind.CONFLICT, "name", spec.name(), "a name that no service has");
          }
          if (spec.maxBackends().isPresent() && spec.buckets().isPresent()) {
            throw new Refusal(
                Refusal.Kind.INVALID,
                "buckets",
                spec.buckets().get().toString(),
                "either maxBackends or buckets");
          }
          int wanted = 100 * spec.maxBackends().orElse(100);
          int buckets =
              spec.buckets().orElse(Math.max(256, Integer.highestOneBit(wanted - 1) << 1));
          ServiceView view =
              new ServiceView(
                  lastId + 1,
                  spec.name(),
                  "%d-0-1".formatted(lastId + 1),
                  spec.vips(),
                  spec.ports(),
                  "ring",
                  buckets,
                  spec.hash(),
                  spec.affinity(),
                  spec.wire().encap(),
                  spec.windowSeconds(),
                  spec.mptcpPorts(),
                  spec.assignment(),
                  1,
                  0,
                  spec.wire().quicServerId(),
                  spec.wire().maxSegmentSize());
          if (!options.dryRun()) {
            lastId++;
            pools.put(spec.name(), new Pool(view, new TreeMap<>(), new int[buckets]));
          }
          return new Result(spec.name(), 1, options.dryRun(), 0, 0, 0, List.of(), List.of());
        });
  }

  @Override
  public synchronized CompletionStage<Result> changeService(
      String name, ServiceChange change, WriteOptions options) {
    return write(
        options,
        () -> {
          Pool pool = pool(name);
          ServiceView old = pool.view();
          options.precondition().check(Optional.of(old.version()));
          ServiceView view =
              new ServiceView(
                  old.id(),
                  name,
                  old.version().replaceAll("-([0-9]+)-", "-1$1-"),
                  change.vips().orElse(old.vips()),
                  change.ports().orElse(old.ports()),
                  old.steering(),
                  old.buckets(),
                  old.hash(),
                  old.affinity(),
                  old.encap(),
                  change.windowSeconds().orElse(old.windowSeconds()),
                  change.mptcpPorts().or(old::mptcpPorts).filter(range -> range.last() != 0),
                  change.assignment().orElse(old.assignment()),
                  old.generation(),
                  old.backends(),
                  change.quicServerId().or(old::quicServerId).filter(at -> at.length() != 0),
                  change.maxSegmentSize().or(old::maxSegmentSize).filter(size -> size != 0));
          if (!options.dryRun()) {
            pools.put(name, new Pool(view, pool.backends(), pool.ring()));
          }
          return new Result(
              name, old.generation(), options.dryRun(), 0, 0, 0, List.of(), List.of());
        });
  }

  /** In several steps, of which each is seen: what the real one does at once is tested there. */
  @Override
  public synchronized CompletionStage<Result> putService(
      ServiceSpec spec, Optional<List<Change.Add>> pool, WriteOptions options) {
    if (!pools.containsKey(spec.name())) {
      CompletionStage<Result> created = createService(spec, options);
      boolean isFilled = !options.dryRun() && pool.filter(p -> !p.isEmpty()).isPresent();
      return isFilled ? change(spec.name(), List.copyOf(pool.get()), options) : created;
    }
    options.precondition().checkAbsent("there is a service '%s'".formatted(spec.name()));
    List<Change> changes = new ArrayList<>();
    TreeMap<Integer, BackendView> present = pool(spec.name()).backends();
    TreeSet<Integer> gone = new TreeSet<>(pool.isPresent() ? present.keySet() : List.of());
    for (Change.Add add : pool.orElse(List.of())) {
      BackendView old = present.get(add.id());
      gone.remove(add.id());
      if (old == null) {
        changes.add(add);
      } else if (old.weight() != add.weight()) {
        changes.add(new Change.Weight(add.id(), add.weight()));
      }
    }
    gone.forEach(id -> changes.add(new Change.Remove(id)));
    ServiceView old = pool(spec.name()).view();
    boolean isSame =
        old.vips().equals(spec.vips())
            && old.ports().equals(spec.ports())
            && old.windowSeconds() == spec.windowSeconds()
            && old.mptcpPorts().equals(spec.mptcpPorts())
            && old.assignment().equals(spec.assignment())
            && old.quicServerId().equals(spec.wire().quicServerId())
            && old.maxSegmentSize().equals(spec.wire().maxSegmentSize());
    ServiceChange change =
        new ServiceChange(
            Optional.of(spec.vips()),
            Optional.of(spec.ports()),
            Optional.of(spec.windowSeconds()),
            spec.mptcpPorts().or(() -> Optional.of(new MptcpPorts(0, 0))),
            Optional.of(spec.assignment()),
            spec.wire().quicServerId().or(() -> Optional.of(new QuicServerId(0, 0))),
            spec.wire().maxSegmentSize().or(() -> Optional.of(0)));
    CompletionStage<Result> done = isSame ? null : changeService(spec.name(), change, options);
    if (!changes.isEmpty()) {
      return change(spec.name(), changes, options);
    }
    return done != null
        ? done
        : write(
            options,
            () -> {
              options.precondition().check(Optional.of(old.version()));
              return new Result(
                  spec.name(),
                  old.generation(),
                  options.dryRun(),
                  false,
                  0,
                  0,
                  0,
                  List.of(),
                  List.of());
            });
  }

  @Override
  public synchronized CompletionStage<Result> deleteService(String name, WriteOptions options) {
    return write(
        options,
        () -> {
          Pool pool = pool(name);
          options.precondition().check(Optional.of(pool.view().version()));
          if (!options.dryRun()) {
            pools.remove(name);
          }
          return new Result(
              name, pool.view().generation(), options.dryRun(), 0, 0, 0, List.of(), List.of());
        });
  }

  @Override
  public synchronized List<BackendView> backends(String service) {
    return List.copyOf(pool(service).backends().values());
  }

  @Override
  public synchronized CompletionStage<Result> change(
      String service, List<Change> changes, WriteOptions options) {
    return write(
        options,
        () -> {
          Pool pool = pool(service);
          options.precondition().check(Optional.of(pool.view().version()));
          TreeMap<Integer, BackendView> backends = new TreeMap<>(pool.backends());
          for (int i = 0; i < changes.size(); i++) {
            apply(backends, changes.get(i), i);
          }
          int[] ring = assign(backends, pool.ring().length);
          List<Move> moves = moves(pool.ring(), ring);
          TreeSet<Integer> ids = new TreeSet<>(backends.keySet());
          ids.addAll(pool.backends().keySet());
          List<Share> shares =
              ids.stream()
                  .map(
                      id ->
                          new Share(
                              id,
                              Optional.ofNullable(backends.get(id))
                                  .map(BackendView::weight)
                                  .orElse(0),
                              count(pool.ring(), id),
                              count(ring, id)))
                  .toList();
          backends.replaceAll((id, b) -> view(id, b.address(), b.weight(), count(ring, id)));
          long generation = pool.view().generation() + 1;
          if (!options.dryRun()) {
            ServiceView old = pool.view();
            ServiceView view =
                new ServiceView(
                    old.id(),
                    old.name(),
                    old.version().replaceAll("[0-9]+$", Long.toString(generation)),
                    old.vips(),
                    old.ports(),
                    old.steering(),
                    old.buckets(),
                    old.hash(),
                    old.affinity(),
                    old.encap(),
                    old.windowSeconds(),
                    old.mptcpPorts(),
                    old.assignment(),
                    generation,
                    backends.size(),
                    old.quicServerId(),
                    old.maxSegmentSize());
            pools.put(service, new Pool(view, backends, ring));
          }
          int moved = moves.stream().mapToInt(Move::count).sum();
          return new Result(
              service, generation, options.dryRun(), moved, chained, returned, moves, shares);
        });
  }

  @Override
  public synchronized CompletionStage<Result> startUpkeep(
      String service, UpkeepOrder order, WriteOptions options) {
    return change(service, List.of(), options);
  }

  @Override
  public synchronized CompletionStage<Result> stopUpkeep(String service, WriteOptions options) {
    return change(service, List.of(), options);
  }

  @Override
  public synchronized Look look(String name) {
    ServiceView service = service(name).orElseGet(() -> pool(name).view());
    List<BackendView> backends = backends(name);
    UpkeepView upkeep = upkeep(name);
    RingView ring = ring(name);
    Runnable next = meanwhile;
    meanwhile = () -> {};
    next.run();
    return new Look() {
      @Override
      public ServiceView service() {
        return service;
      }

      @Override
      public List<BackendView> backends() {
        return backends;
      }

      @Override
      public UpkeepView upkeep() {
        return upkeep;
      }

      @Override
      public RingView ring() {
        return ring;
      }
    };
  }

  /** What happens once, between the moment that the next read looks at and its answer. */
  public synchronized void meanwhile(Runnable change) {
    meanwhile = change;
  }

  @Override
  public synchronized UpkeepView upkeep(String service) {
    return new UpkeepView(
        service, pool(service).view().generation(), 1, 1, 1, Map.of(), Optional.empty());
  }

  @Override
  public synchronized RingView ring(String service) {
    Pool pool = pool(service);
    Map<Integer, List<int[]>> runs = new TreeMap<>();
    for (Move run : moves(new int[pool.ring().length], pool.ring())) {
      runs.computeIfAbsent(run.to(), id -> new ArrayList<>())
          .add(new int[] {run.start(), run.count()});
    }
    if (runs.isEmpty()) {
      runs.put(0, List.of(new int[] {0, pool.ring().length}));
    }
    return new RingView(service, pool.view().generation(), pool.ring().length, runs);
  }

  @Override
  public synchronized Explanation explain(String service, Flow flow) {
    Pool pool = pool(service);
    if (!pool.view().vips().contains(flow.destination())) {
      throw new Refusal(
          Refusal.Kind.INVALID,
          "destination",
          flow.destination(),
          String.join(", ", pool.view().vips()));
    }
    long hash = Integer.toUnsignedLong(flow.hashCode());
    int bucket = (int) (hash & (pool.ring().length - 1));
    Optional<Owner> owner =
        Optional.ofNullable(pool.backends().get(pool.ring()[bucket]))
            .map(backend -> new Owner(backend.id(), backend.address()));
    return new Explanation(
        service,
        hash,
        Optional.of(bucket),
        owner,
        Optional.empty(),
        0,
        false,
        pool.view().generation());
  }

  @Override
  public synchronized List<MuxView> muxes() {
    return List.copyOf(muxes);
  }

  @Override
  public synchronized Optional<KeptAnswer> answer(String key) {
    return Optional.ofNullable(kept.get(key));
  }

  @Override
  public synchronized Journal.Page audit(OptionalLong before, int limit) {
    List<Journal.Numbered> older =
        records.stream().filter(r -> r.number() < before.orElse(Long.MAX_VALUE)).toList();
    List<Journal.Numbered> page = older.stream().limit(limit).toList();
    return new Journal.Page(
        page,
        page.size() < older.size()
            ? OptionalLong.of(page.get(page.size() - 1).number())
            : OptionalLong.empty());
  }

  private Result noted(WriteOptions options, Result result) {
    if (!options.dryRun()) {
      Note note =
          new Notes("fake", Clock.systemUTC()).of(new Epoch(3, 3), options.origin(), result);
      records.add(0, new Journal.Numbered(records.size(), note.entry()));
      note.kept().ifPresent(answer -> kept.put(answer.key(), answer));
    }
    return result;
  }

  @Override
  public byte[] backup() {
    return """
    {"format":1,"cluster":"000102030405060708090a0b0c0d0e0f","taken":"2025-01-01T00:00:00Z",
     "epoch":3,"lastServiceId":0,"services":[]}\
    """
        .getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public synchronized Health health() {
    return new Health(
        outage.isEmpty() && leaderUrl.isEmpty(),
        3,
        outage.isEmpty() ? "connected" : "suspended",
        pools.size(),
        leaderUrl);
  }

  private interface Write {
    Result plan();
  }

  private CompletionStage<Result> write(WriteOptions options, Write write) {
    try {
      outage.ifPresent(
          refusal -> {
            throw refusal;
          });
      return CompletableFuture.completedFuture(noted(options, write.plan()));
    } catch (Refusal refusal) {
      return CompletableFuture.failedFuture(refusal);
    }
  }

  private Pool pool(String name) {
    Pool pool = pools.get(name);
    if (pool == null) {
      throw new Refusal(Refusal.Kind.NOT_FOUND, "service", name, String.join(", ", pools.keySet()));
    }
    return pool;
  }

  private static void apply(TreeMap<Integer, BackendView> backends, Change change, int index) {
    int id = change.id();
    boolean live = backends.containsKey(id);
    if (change instanceof Change.Add add) {
      if (live) {
        throw new Refusal(
            Refusal.Kind.CONFLICT,
            "changes[%d].id".formatted(index),
            Integer.toString(id),
            "an id that no backend has");
      }
      backends.put(id, view(id, add.address(), add.weight(), 0));
    } else if (!live) {
      throw new Refusal(
          Refusal.Kind.NOT_FOUND, "id", Integer.toString(id), backends.keySet().toString());
    } else if (change instanceof Change.Weight weight) {
      backends.put(id, view(id, backends.get(id).address(), weight.weight(), 0));
    } else {
      backends.remove(id);
    }
  }

  private static BackendView view(int id, String address, int weight, int buckets) {
    return new BackendView(id, address, weight, weight > 0 ? "active" : "draining", buckets);
  }

  private static int[] assign(TreeMap<Integer, BackendView> backends, int buckets) {
    long total = backends.values().stream().mapToLong(BackendView::weight).sum();
    int[] ring = new int[buckets];
    long sum = 0;
    for (BackendView backend : backends.values()) {
      int from = total == 0 ? 0 : (int) (sum * buckets / total);
      sum += backend.weight();
      int to = total == 0 ? 0 : (int) (sum * buckets / total);
      Arrays.fill(ring, from, to, backend.id());
    }
    return ring;
  }

  private static List<Move> moves(int[] before, int[] after) {
    Map<Integer, Move> moves = new LinkedHashMap<>();
    Move last = null;
    for (int bucket = 0; bucket < after.length; bucket++) {
      if (before[bucket] == after[bucket]) {
        continue;
      }
      boolean extend =
          last != null
              && last.start() + last.count() == bucket
              && last.from() == before[bucket]
              && last.to() == after[bucket];
      last =
          extend
              ? new Move(last.start(), last.count() + 1, last.from(), last.to())
              : new Move(bucket, 1, before[bucket], after[bucket]);
      moves.put(last.start(), last);
    }
    return moves.values().stream().sorted(Comparator.comparingInt(Move::start)).toList();
  }

  private static int count(int[] ring, int id) {
    return (int) Arrays.stream(ring).filter(owner -> owner == id).count();
  }
}
