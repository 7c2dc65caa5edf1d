// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import io.fairlead.controller.Requests;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Othello;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.agents.Report;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.metrics.CommitMetrics;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.othello.ArraysWriter;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.othello.OthelloCounters;
import io.fairlead.controller.resources.othello.OthelloKeepers;
import io.fairlead.controller.resources.othello.OthelloStatus;
import io.fairlead.controller.resources.othello.Surroundings;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Sizes;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.repository.StoredService;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;

/**
 * A service steered by Othello in a real ZooKeeper, with its writer and keeper, and with muxes and
 * agents that a test drives by an injected clock. Everything runs on the test's thread.
 */
final class OthelloService implements AutoCloseable {
  static final int WINDOW = 240;
  static final int AGE = 40;
  static final int SPACING = 80;

  /** For so many seconds a mux may be behind before it withdraws. */
  static final int BEHIND = 20;

  /** After a commit, until no mux that may be absent opens connections without it. */
  static final int SETTLED = BEHIND + SettledMoves.MARGIN_SECONDS;

  /** After that, until no SYN cookie can come back. */
  static final int LAPSED = 130;

  /** From then on agents' reports say all: of what was opened last, and was old enough. */
  static final int OLD = AGE + Othello.HANDSHAKE_SECONDS;

  /**
   * After arrays, until all is known that was opened by those before, and the keeper has looked.
   */
  static final int KNOWN = SETTLED + LAPSED + OLD + 3;

  private static final Tree TREE = new Tree("/fairlead");
  private static final long START = 1_700_000_000;

  final Random random;
  final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  final Map<String, Long> muxes = new TreeMap<>();

  /** The newest arrays of muxes that say it. */
  final Map<String, Long> arrays = new TreeMap<>();

  private final Map<String, MuxPresence.Absent> absent = new TreeMap<>();
  final Map<Integer, Agent> agents = new TreeMap<>();

  final CuratorFramework client;
  private final TestingServer server;
  private final SettableClock clock = new SettableClock(START);
  private final ServiceStore store;
  private final ServiceRepository repository;
  private Epoch epoch = new Epoch(1, Version.after(0));
  private Optional<CommittedArrays> committed = Optional.empty();
  ServiceWriter writer;
  OthelloKeepers keepers;

  /** Differs from ZooKeeper's, as far as keepers know. */
  boolean isClockOff;

  /** Happens between each look and its commit. */
  Overtaking overtaking = () -> {};

  interface Overtaking {
    void run() throws Exception;
  }

  /** What the keeper commits comes behind something else. */
  private final class Overtaken implements ArraysWriter {
    private final ServiceWriter writer;

    Overtaken(ServiceWriter writer) {
      this.writer = writer;
    }

    @Override
    public StoredService stored() {
      return writer.stored();
    }

    @Override
    public boolean isGone() {
      return writer.isGone();
    }

    @Override
    public CompletionStage<Optional<Commit>> commitArrays(Proposal proposal) {
      overtake();
      return writer.commitArrays(proposal);
    }

    @Override
    public CompletionStage<Optional<Commit>> commitArrays(
        List<Ahead> ahead, Function<List<Long>, Proposal> proposal) {
      List<Ahead> overtaken = new ArrayList<>();
      for (Ahead each : ahead) {
        overtaken.add(
            new Ahead(
                each.blob(),
                each.beside(),
                number -> {
                  overtake();
                  return each.bytes().apply(number);
                }));
      }
      return writer.commitArrays(overtaken, proposal);
    }

    private void overtake() {
      try {
        overtaking.run();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }

  OthelloService(long seed) throws Exception {
    this(seed, Sizes.DEFAULT);
  }

  OthelloService(long seed, Sizes sizes) throws Exception {
    random = new Random(seed);
    server = TestZooKeeper.start();
    client = ZooKeeperClient.create(server.getConnectString());
    client.start();
    Roots.create(ZooKeeperStore.of(client, TREE), TREE);
    store = new ServiceStore(ZooKeeperStore.of(client, TREE), TREE, Duration.ofSeconds(5), sizes);
    repository = new ServiceRepository(store);
    ServiceConfig config =
        ServiceRules.created(Requests.sized("web", "10.99.0.1", 1024), 1, random).toBuilder()
            .steering(SteeringMethod.OTHELLO)
            .othello(Optional.of(new Othello(AGE, SPACING)))
            .build();
    lead(repository.create(epoch, ServiceImage.create(config, START)));
  }

  /** Backends with agents, one mux, and connections that are old enough to be reported next. */
  void begin(int backends, int connections) throws Exception {
    List<Change> all = new ArrayList<>();
    for (int id = 1; id <= backends; id++) {
      all.add(Requests.add(id));
      agent(id);
    }
    Requests.done(writer.change(all, WriteOptions.COMMIT));
    muxes.put("mux1", ring().generation());
    for (int i = 0; i < connections; i++) {
      long key = random.nextLong();
      agent(opensAt(key)).opens(key);
    }
    step();
    report();
  }

  private MuxPresence presence() {
    return new MuxPresence(
        views().stream().map(mux -> new MuxPresence.Present(mux, BEHIND)).toList(),
        List.copyOf(absent.values()),
        0);
  }

  /** It loses its session, and goes on by what it has. */
  void lose(String mux) {
    lose(mux, seconds());
  }

  /** As of then. */
  void lose(String mux, long then) {
    MuxView view = views().stream().filter(each -> each.id().equals(mux)).findFirst().orElseThrow();
    muxes.remove(mux);
    absent.put(mux, new MuxPresence.Absent(view, BEHIND, then));
  }

  /** It has a session again. */
  void back(String mux, long generation) {
    absent.remove(mux);
    muxes.put(mux, generation);
  }

  private void lead(StoredService stored) {
    SettledServices settled =
        new SettledServices(
            this::presence,
            clock::seconds,
            committed -> clock.seconds() - committed,
            SettledMoves.Told.AT_ONCE,
            config -> SettledMoves.Sharing.NONE);
    writer =
        ServiceWriter.builder(repository, epoch, stored)
            .clock(ClockCheck.off(clock, System::nanoTime, () -> 0))
            .notes(new Notes("test", clock, () -> {}))
            .metrics(new CommitMetrics(registry))
            .addresses(new Addresses(List::of, VipGuard.none()))
            .live(new FakeConnections(), settled)
            .threads(Runnable::run, Runnable::run)
            .build();
    ArraysWriter mine = new Overtaken(writer);
    keepers =
        new OthelloKeepers(
            name -> name.equals("web") ? Optional.of(mine) : Optional.empty(),
            new Surroundings(
                store,
                this::views,
                settled,
                this::nanos,
                () -> isClockOff ? OptionalLong.empty() : OptionalLong.of(clock.seconds()),
                random::nextLong,
                true),
            Runnable::run,
            new OthelloCounters(registry));
  }

  /** Another controller leads from now on, with nothing but what ZooKeeper has. */
  void failOver() throws Exception {
    int version = client.setData().forPath(TREE.epoch(), "2".getBytes()).getVersion();
    epoch = new Epoch(epoch.number() + 1, Version.after(version));
    StoredService stored = repository.read("web").orElseThrow();
    repository.removeOld(epoch, stored);
    lead(stored);
  }

  /** Seconds of both clocks. */
  void pass(int seconds) {
    clock.set(clock.seconds() + seconds);
  }

  long seconds() {
    return clock.seconds();
  }

  private long nanos() {
    return TimeUnit.SECONDS.toNanos(clock.seconds());
  }

  private List<MuxView> views() {
    List<MuxView> views = new ArrayList<>();
    muxes.forEach(
        (id, generation) ->
            views.add(
                new MuxView(
                    id,
                    "c",
                    "test",
                    Optional.empty(),
                    Optional.empty(),
                    List.of(),
                    Optional.empty(),
                    Map.of(),
                    Map.of(
                        "web",
                        new MuxService(
                            generation,
                            generation == 0 ? "loading" : "serving",
                            Optional.empty(),
                            Optional.empty(),
                            Optional.empty(),
                            Optional.ofNullable(arrays.get(id)),
                            Optional.of(generation))))));
    return views;
  }

  Ring ring() {
    return writer.image().ring();
  }

  /** All muxes have what is committed. */
  void muxesCatchUp() {
    muxes.replaceAll((id, generation) -> ring().generation());
  }

  /** The mux has the arrays that are announced, or the newest. */
  void reads(String mux) {
    writer
        .stored()
        .state()
        .arrays()
        .map(all -> all.ahead().orElse(all.newest()).generation())
        .ifPresent(generation -> arrays.put(mux, generation));
  }

  void step() {
    keepers.step(List.of("web"));
  }

  OthelloStatus status() {
    return keepers.status("web").orElseThrow();
  }

  double counted(String name, String label, String value) {
    return registry.counter(name, "service", "web", label, value).count();
  }

  /** What ZooKeeper holds, decoded as a new leader does. */
  Optional<CommittedArrays> committed() throws Exception {
    if (!writer.stored().state().arrays().equals(committed.map(CommittedArrays::latest))) {
      committed = CommittedArrays.read(store, repository.read("web").orElseThrow());
    }
    return committed;
  }

  /** The same, read again. */
  CommittedArrays read() throws Exception {
    return CommittedArrays.read(store, repository.read("web").orElseThrow()).orElseThrow();
  }

  /** Which backend gets a new connection from a mux that has applied everything. */
  int opensAt(long key) throws Exception {
    return view().opensAt(key);
  }

  /** What such a mux steers by. */
  View view() throws Exception {
    return new View(ring(), committed());
  }

  record View(Ring ring, Optional<CommittedArrays> arrays) {
    /** Which backend gets a new connection. */
    int opensAt(long key) {
      return ring.current(codes(key).get(0));
    }

    /** The first bucket of its packets, and the second one if they name two. */
    List<Integer> codes(long key) {
      List<Integer> codes = new ArrayList<>();
      int low = (int) key & ring.buckets() - 1;
      codes.add(arrays.map(all -> all.newest().code(key)).orElse(low));
      arrays
          .flatMap(CommittedArrays::codesBefore)
          .ifPresent(before -> codes.add(before.applyAsInt(key)));
      return codes;
    }
  }

  /** The number of buckets that have former owners. */
  long named() {
    Ring now = ring();
    return IntStream.range(0, now.buckets()).filter(b -> now.previous(b) != Backend.NONE).count();
  }

  /**
   * Whether a packet of a connection that only {@code backend} knows gets there: as an owner of one
   * bucket or the other, or as a former one.
   */
  boolean reaches(long key, int backend, Optional<CommittedArrays> arrays) {
    List<Integer> buckets = new View(ring(), arrays).codes(key);
    return buckets.stream().anyMatch(bucket -> leads(bucket, backend));
  }

  private boolean leads(int bucket, int backend) {
    return ring().current(bucket) == backend || ring().history(bucket).indexOf(backend) >= 0;
  }

  /** The agent of a backend, as protocol/README.md §11 says what it does. */
  Agent agent(int backend) {
    return agents.computeIfAbsent(backend, Agent::new);
  }

  void report() {
    agents.values().forEach(Agent::report);
  }

  final class Agent {
    final int backend;

    /** When each connection was opened. */
    final Map<Long, Long> open = new HashMap<>();

    final Set<Long> told = new HashSet<>();
    String memory = "";
    String mark = "";
    boolean isWhole;

    private Agent(int backend) {
      this.backend = backend;
    }

    void opens(long key) {
      open.put(key, seconds());
    }

    Report.Remembered report() {
      return report(changes -> changes);
    }

    /** One whose answer is lost: the connections of it are sent again. */
    void reportUnanswered() {
      keepers.accept(place(), changes());
    }

    Report.Remembered report(UnaryOperator<Changes> by) {
      Optional<Changes> changes = changes().map(by);
      Report.Remembered answer = keepers.accept(place(), changes).orElseThrow();
      if (answer.memory().equals(memory)) {
        changes.ifPresent(
            sent -> {
              for (long key : sent.closed()) {
                told.remove(key);
              }
              for (long key : sent.opened()) {
                told.add(key);
              }
            });
        isWhole &= changes.isEmpty();
      } else {
        memory = answer.memory();
        told.clear();
        isWhole = true;
      }
      mark = answer.mark();
      return answer;
    }

    private Place place() {
      return new Place(writer.image().config(), List.of(backend));
    }

    private Optional<Changes> changes() {
      if (memory.isEmpty()) {
        return Optional.empty();
      }
      long[] opened =
          open.entrySet().stream()
              .filter(each -> seconds() - each.getValue() >= AGE && !told.contains(each.getKey()))
              .mapToLong(Map.Entry::getKey)
              .toArray();
      long[] closed =
          told.stream().filter(key -> !open.containsKey(key)).mapToLong(k -> k).toArray();
      return Optional.of(new Changes(memory, mark, isWhole, isWhole, true, opened, closed));
    }
  }

  @Override
  public void close() throws IOException {
    client.close();
    server.close();
  }
}
