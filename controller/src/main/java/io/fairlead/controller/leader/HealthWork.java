// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.HealthCheck;
import io.fairlead.controller.core.image.ServiceConfig.Maintenance;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Unhealthy;
import io.fairlead.controller.plan.OutageRules;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.health.Evidence;
import io.fairlead.controller.resources.health.Evidence.Verdict;
import io.fairlead.controller.resources.health.HealthDecision;
import io.fairlead.controller.resources.health.HealthDecision.Backend;
import io.fairlead.controller.resources.health.HealthDecision.Memory;
import io.fairlead.controller.resources.health.HealthDecision.Policy;
import io.fairlead.controller.resources.health.HealthDecision.State;
import io.fairlead.controller.resources.health.HealthDecision.Step;
import io.fairlead.controller.resources.health.HealthView;
import io.fairlead.controller.resources.health.HealthView.Event;
import io.fairlead.controller.resources.health.ProbeNode;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import io.fairlead.controller.service.ClockCheck;
import io.fairlead.controller.service.ServiceWriter;
import io.fairlead.controller.store.repository.StoredService;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes backends out of service, and back, by what probes find, in one leader's term. One thread at
 * a time calls {@link #step}, every second.
 *
 * <p>What is out is in the image, so a new leader changes nothing of it. It only looks until every
 * probe has had time to write its node; so does a leader that has lost ZooKeeper for a moment, or
 * whose clock is off.
 */
final class HealthWork {
  static final long PERIOD_MILLIS = 1000;

  /** How often buckets are tried again that a backend kept, lest one loses an owner. */
  private static final Duration RETRY = Duration.ofSeconds(5);

  private static final Logger LOG = LoggerFactory.getLogger(HealthWork.class);

  /** When the service's present configuration was written, Unix milliseconds by ZooKeeper. */
  interface Written {
    OptionalLong millis(StoredService service);
  }

  /**
   * @param fresh nodes of probes
   * @param muxes how many live
   * @param silent backends of a service whose agents have fallen silent
   * @param nanos a monotonic clock
   * @param settle for how long a new leader only looks
   * @param deadAfter after which a backend that was removed as dead is in the pool again
   */
  record Sources(
      BooleanSupplier isConnected,
      Supplier<List<ProbeNode>> fresh,
      IntSupplier muxes,
      Function<ServiceImage, Set<Integer>> silent,
      Written written,
      LongSupplier nanos,
      Duration settle,
      Duration deadAfter) {}

  private static final class Track {
    private final Deque<Event> history = new ArrayDeque<>();
    private final AtomicBoolean isCommitting = new AtomicBoolean();
    private Memory memory = Memory.NONE;
    private SortedMap<Integer, State> states = new TreeMap<>();

    /** By the monotonic clock, in nanoseconds. */
    private OptionalLong retried = OptionalLong.empty();

    private volatile OptionalLong refused = OptionalLong.empty();
  }

  private final Map<String, ServiceWriter> writers;
  private final Sources from;
  private final ClockCheck clock;
  private final MeterRegistry metrics;
  private final Map<String, Track> tracks = new HashMap<>();

  /** Services that could not be looked at last time. */
  private final Set<String> failing = new HashSet<>();

  private volatile List<HealthView> views = List.of();

  /** Since when it looks without a break, by the monotonic clock; empty while it does not. */
  private OptionalLong lookingSince = OptionalLong.empty();

  /**
   * @param writers those of all services, by name
   */
  HealthWork(
      Map<String, ServiceWriter> writers, Sources from, ClockCheck clock, MeterRegistry metrics) {
    this.writers = writers;
    this.from = from;
    this.clock = clock;
    this.metrics = metrics;
  }

  /** The health of services with a check, by name. */
  List<HealthView> views() {
    return views;
  }

  /** Looks at all services. */
  void step() {
    if (!from.isConnected().getAsBoolean()) {
      lookingSince = OptionalLong.empty();
      return;
    }
    long nanos = from.nanos().getAsLong();
    lookingSince = OptionalLong.of(lookingSince.orElse(nanos));
    OptionalLong now = clock.leadSeconds();
    boolean isActing =
        now.isPresent() && nanos - lookingSince.getAsLong() >= from.settle().toNanos();
    tracks.keySet().retainAll(writers.keySet());
    List<ProbeNode> fresh = from.fresh().get();
    List<HealthView> next = new ArrayList<>();
    new TreeMap<>(writers)
        .forEach(
            (name, writer) -> {
              try {
                look(writer, fresh, isActing, now.orElseGet(clock::shownSeconds))
                    .ifPresent(next::add);
                failing.remove(name);
              } catch (RuntimeException | Error e) {
                if (failing.add(name)) {
                  LOG.error("health of service '{}'", name, e);
                }
              }
            });
    views = List.copyOf(next);
  }

  private Optional<HealthView> look(
      ServiceWriter writer, List<ProbeNode> fresh, boolean isActing, long now) {
    StoredService stored = writer.stored();
    ServiceImage image = stored.image();
    Track track = tracks.computeIfAbsent(writer.name(), name -> new Track());
    if (writer.isGone()) {
      return Optional.empty();
    }
    Optional<HealthCheck> check = image.config().healthCheck();
    if (check.isEmpty()) {
      // The check was removed: backends that it took out of service return.
      TreeSet<Integer> back = new TreeSet<>(image.transitions().health().out().keySet());
      back.removeIf(id -> !image.transitions().health().isOut(id));
      track.memory = Memory.NONE;
      OutageRules.Order order =
          new OutageRules.Order(
              new TreeMap<>(),
              back,
              new TreeSet<>(),
              new TreeSet<>(image.transitions().health().gone().keySet()));
      commit(writer, track, order, "no health check");
      return Optional.empty();
    }
    OptionalLong written = from.written().millis(stored);
    Evidence evidence =
        Evidence.of(
            writer.name(), image.config().id(), written.orElse(-1), fresh, from.muxes().getAsInt());
    HealthCheck.Action action = check.get().action();
    boolean isKilling = action.dead().isPresent();
    SortedMap<Integer, Backend> backends =
        backends(image, evidence, isKilling ? from.silent().apply(image) : Set.of());
    int limit = new Maintenance(action.maxOut()).draining(backends.size());
    Policy policy = new Policy(action.panicPercent(), limit, action.withdraw(), isKilling);
    Step step = HealthDecision.step(policy, backends, track.memory, now);
    if (isActing) {
      track.memory = step.memory();
      SortedMap<Integer, String> out = new TreeMap<>();
      step.out().forEach(id -> out.put(id, evidence.votes(id).reason().orElse("unknown")));
      String why = step.memory().isPanic() ? "health is ignored: too few are healthy" : "up again";
      boolean isLater = isRecent(track.refused); // what is not urgent
      OutageRules.Order order =
          new OutageRules.Order(
              out,
              step.back(),
              isLater ? new TreeSet<>() : step.dead(),
              isLater ? new TreeSet<>() : again(image, now));
      if (!commit(writer, track, order.on(image), why)) {
        moveLeft(writer, track);
      }
    }
    return Optional.of(view(image, evidence, step, track, isActing, now));
  }

  private boolean isRecent(OptionalLong nanos) {
    return nanos.isPresent() && from.nanos().getAsLong() - nanos.getAsLong() < RETRY.toNanos();
  }

  /** Of those that are gone, the ones whose time in the pool has come. */
  private SortedSet<Integer> again(ServiceImage image, long now) {
    SortedSet<Integer> again = new TreeSet<>();
    image
        .transitions()
        .health()
        .gone()
        .forEach(
            (id, gone) -> {
              if (now - gone.outage().dead().orElse(0L) >= from.deadAfter().toSeconds()) {
                again.add(id);
              }
            });
    return again;
  }

  /** Those that are gone count as well, lest a limit forgets them. */
  private static SortedMap<Integer, Backend> backends(
      ServiceImage image, Evidence evidence, Set<Integer> silent) {
    Unhealthy health = image.transitions().health();
    SortedMap<Integer, Backend> backends = new TreeMap<>();
    image
        .wanted()
        .forEach(
            (id, member) -> {
              if (member.weight() > 0) {
                backends.put(
                    id,
                    new Backend(
                        evidence.verdict(id),
                        evidence.isSilent(id) && silent.contains(id),
                        health.holds().containsKey(id),
                        Optional.ofNullable(health.out().get(id))));
              }
            });
    health
        .gone()
        .forEach(
            (id, gone) ->
                backends.put(
                    id, new Backend(Verdict.UNKNOWN, false, false, Optional.of(gone.outage()))));
    return backends;
  }

  /** Whether there is anything to commit, or a commit under way. */
  private boolean commit(ServiceWriter writer, Track track, OutageRules.Order order, String back) {
    if (order.isEmpty() || !track.isCommitting.compareAndSet(false, true)) {
      return track.isCommitting.get();
    }
    String what = "health of %s: %s".formatted(writer.name(), order.words(back));
    WriteOptions options = WriteOptions.COMMIT.with(OnLoss.KEEP).with(Origin.health(what));
    writer
        .commit((image, now) -> PoolPlan.health(image, order.on(image), now, options), options)
        .whenComplete(
            (result, failure) -> {
              track.isCommitting.set(false);
              if (failure != null) {
                track.refused = OptionalLong.of(from.nanos().getAsLong());
                LOG.warn("{}: {}", what, failure.getMessage());
                return;
              }
              LOG.info("{}, generation {}", what, result.generation());
              count(writer.name(), "out", order.out().size());
              count(writer.name(), "back", order.back().size());
              count(writer.name(), "dead", order.dead().size());
            });
    return true;
  }

  private void count(String service, String direction, int backends) {
    if (backends > 0) {
      metrics
          .counter("fairlead.controller.health.changes", "service", service, "direction", direction)
          .increment(backends);
    }
  }

  /**
   * Buckets that would have lost an owner have stayed where they were: moves them when they may.
   */
  private void moveLeft(ServiceWriter writer, Track track) {
    ServiceImage image = writer.image();
    Unhealthy health = image.transitions().health();
    if (isRecent(track.retried) || health.out().isEmpty()) {
      return;
    }
    track.retried = OptionalLong.of(from.nanos().getAsLong());
    int[] owned = image.ring().owned();
    boolean isServing = image.pool().values().stream().anyMatch(member -> member.weight() > 0);
    if (isServing
        && health.out().keySet().stream().anyMatch(id -> health.isOut(id) && owned[id] > 0)) {
      String what = "health of %s: buckets that waited".formatted(writer.name());
      WriteOptions options = WriteOptions.COMMIT.with(OnLoss.KEEP).with(Origin.health(what));
      writer
          .commit((on, at) -> PoolPlan.of(on, at, options), options)
          .exceptionally(
              failure -> {
                LOG.warn("{}: {}", what, failure.getMessage());
                return null;
              });
    }
  }

  private HealthView view(
      ServiceImage image, Evidence evidence, Step step, Track track, boolean isActing, long now) {
    SortedMap<Integer, State> states = new TreeMap<>(step.states());
    image.pool().keySet().forEach(id -> states.putIfAbsent(id, State.DRAINING));
    states.forEach(
        (id, state) -> {
          State before = track.states.get(id);
          if (before != null && before != state) {
            String reason = evidence.votes(id).reason().orElse("");
            track.history.addFirst(new Event(now, id, before, state, reason));
            if (track.history.size() > HealthView.HISTORY) {
              track.history.removeLast();
            }
          }
        });
    track.states = states;
    List<HealthView.Backend> backends = new ArrayList<>();
    states.forEach(
        (id, state) -> {
          Evidence.Votes votes = evidence.votes(id);
          Map<String, String> faults = new TreeMap<>();
          votes.faults().forEach((mux, fault) -> faults.put(mux, fault.toString()));
          Optional<Unhealthy.Outage> outage = image.transitions().health().outage(id);
          backends.add(
              new HealthView.Backend(
                  id,
                  state,
                  votes.up(),
                  votes.down(),
                  votes.silent(),
                  faults,
                  outage.filter(Unhealthy.Outage::isOut).map(Unhealthy.Outage::since),
                  outage
                      .map(last -> HealthDecision.times(last, Instant.ofEpochSecond(now)))
                      .filter(times -> times > 0),
                  Optional.ofNullable(step.returns().get(id))));
        });
    return new HealthView(
        image.config().name(),
        backends,
        step.healthy(),
        step.memory().isPanic(),
        isActing,
        evidence.probes(),
        evidence.needed(),
        evidence.unprobed(),
        List.copyOf(track.history));
  }
}
