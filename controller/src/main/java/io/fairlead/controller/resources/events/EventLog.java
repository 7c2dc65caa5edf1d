// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.events;

import io.fairlead.controller.core.image.Stage;
import io.fairlead.controller.core.image.Transitions.SlowStart;
import io.fairlead.controller.http.Answer;
import io.fairlead.controller.resources.drains.DrainWatch;
import io.fairlead.controller.resources.hold.HoldCounts;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.plane.Health;
import io.fairlead.controller.resources.plane.Plane;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Staging;
import io.fairlead.controller.secret.RandomHex;
import io.fairlead.controller.store.repository.StoredService;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.random.RandomGenerator;

/**
 * The latest changes, numbered. They are found by comparing the state with the one before, so that
 * leader and followers report the same; several commits between two comparisons are one event,
 * which has the state after the last of them.
 *
 * <p>For one thread. Bounded: the oldest events are forgotten.
 */
final class EventLog {
  static final int KEPT = 10_000;
  static final int KEPT_CHARACTERS = 16 << 20;

  private static final int NAME_BYTES = 4;

  /** {@code data} is one line of JSON. */
  record Event(long number, String type, String data) {}

  /**
   * @param starting the slow starts of its backends
   * @param chained buckets that name a former owner, of a service with a hold
   * @param drains of its backends
   * @param stage its latest staged change
   */
  record Version(
      String version,
      long generation,
      Map<Integer, SlowStart> starting,
      int chained,
      Map<Integer, DrainWatch.Told> drains,
      Optional<Stage> stage) {
    /** Walks through the ring, unless {@code before} is of the same version. */
    static Version of(StoredService service, DrainWatch drains, Version before) {
      boolean isSame = before != null && before.version().equals(service.version());
      return new Version(
          service.version(),
          service.image().ring().generation(),
          service.image().transitions().slowStarts(),
          isSame ? before.chained() : HoldCounts.of(service.image()).named(),
          drains.told(service.image()),
          service.image().transitions().stage());
    }
  }

  /** All that events report. */
  record State(Map<String, Version> services, Map<String, MuxView> muxes, Optional<Health> health) {
    static final State EMPTY = new State(Map.of(), Map.of(), Optional.empty());

    /** The state now; services as {@code before} while reads are not served. */
    static State of(Plane plane, List<MuxView> live, DrainWatch drains, State before) {
      Map<String, MuxView> muxes = new TreeMap<>();
      live.forEach(mux -> muxes.put(mux.id(), mux));
      Map<String, Version> services = new TreeMap<>();
      try {
        for (StoredService service : plane.services()) {
          String name = service.image().config().name();
          services.put(name, Version.of(service, drains, before.services().get(name)));
        }
      } catch (Refusal e) {
        services.putAll(before.services());
      }
      return new State(services, muxes, Optional.of(plane.health()));
    }
  }

  private record ServiceEvent(String service, String version, long generation, boolean deleted) {}

  /**
   * @param share of that of the weight
   */
  private record Starting(int backend, double share) {}

  private record DrainEvent(String service, List<DrainWatch.Told> drains, List<Integer> over) {}

  private record StageEvent(String service, Staging staging) {}

  private record SlowStartEvent(String service, List<Starting> starting, List<Integer> ended) {}

  private record HoldEvent(String service, long generation, int chainedBuckets, int before) {}

  private record MuxEvent(String mux, Map<String, MuxService> services, boolean gone) {}

  private final String name;
  private final Deque<Event> events = new ArrayDeque<>();
  private State state = State.EMPTY;
  private long next = 1;
  private long characters;

  EventLog(RandomGenerator random) {
    name = RandomHex.draw(NAME_BYTES, random);
  }

  State state() {
    return state;
  }

  /** Whether there is something to compare with. */
  boolean hasState() {
    return state.health().isPresent();
  }

  /** The number of the next event. */
  long next() {
    return next;
  }

  /** Takes over a newer state and adds an event for each difference; none for the first state. */
  void advance(State now) {
    if (hasState()) {
      differences(state, now).forEach(event -> add(event.type(), event.data()));
    }
    state = now;
  }

  private void add(String type, String data) {
    events.addLast(new Event(next++, type, data));
    characters += data.length();
    while (events.size() > KEPT || characters > KEPT_CHARACTERS) {
      characters -= events.removeFirst().data().length();
    }
  }

  /** Those from {@code number} on, at most {@code most}; what is forgotten is left out. */
  List<Event> from(long number, int most) {
    long oldest = next - events.size();
    return events.stream().skip(Math.max(0, number - oldest)).limit(most).toList();
  }

  /** The identifier of an event, for {@code Last-Event-ID}. */
  String id(long number) {
    return name + "-" + number;
  }

  /**
   * The number of the event after the one that {@code id} names; empty if that is another log's, or
   * if events in between are forgotten.
   */
  Optional<Long> after(String id) {
    int dash = id.indexOf('-');
    long number = Long.parseLong(id.substring(dash + 1)) + 1;
    boolean isKnown =
        id.substring(0, dash).equals(name) && number >= next - events.size() && number <= next;
    return isKnown ? Optional.of(number) : Optional.empty();
  }

  private static List<Event> differences(State before, State now) {
    List<Event> found = new ArrayList<>();
    now.services()
        .forEach(
            (service, view) -> {
              Version old = before.services().get(service);
              if (old == null || !old.version().equals(view.version())) {
                found.add(event("service", of(service, view, false)));
              }
              Map<Integer, DrainWatch.Told> drained = old == null ? Map.of() : old.drains();
              if (!drained.equals(view.drains())) {
                found.add(event("drain", drains(service, drained, view.drains())));
              }
              view.stage()
                  .filter(stage -> old == null || !old.stage().equals(view.stage()))
                  .ifPresent(
                      stage ->
                          found.add(event("stage", new StageEvent(service, Staging.of(stage)))));
              Map<Integer, SlowStart> started = old == null ? Map.of() : old.starting();
              if (!started.equals(view.starting())) {
                found.add(event("slowStart", of(service, started, view.starting())));
              }
              int chained = old == null ? 0 : old.chained();
              if (chained != view.chained()) {
                found.add(
                    event(
                        "hold",
                        new HoldEvent(service, view.generation(), view.chained(), chained)));
              }
            });
    before.services().entrySet().stream()
        .filter(old -> !now.services().containsKey(old.getKey()))
        .forEach(old -> found.add(event("service", of(old.getKey(), old.getValue(), true))));
    now.muxes()
        .forEach(
            (mux, view) -> {
              MuxView old = before.muxes().get(mux);
              if (!view.equals(old)) {
                found.add(event("mux", new MuxEvent(mux, changed(old, view), false)));
              }
            });
    before.muxes().keySet().stream()
        .filter(mux -> !now.muxes().containsKey(mux))
        .forEach(mux -> found.add(event("mux", new MuxEvent(mux, Map.of(), true))));
    now.health()
        .filter(health -> !before.health().map(old -> isSame(old, health)).orElse(false))
        .ifPresent(health -> found.add(event("controller", health)));
    return found;
  }

  /** Only the services that changed: a mux may have a thousand. */
  private static Map<String, MuxService> changed(MuxView old, MuxView now) {
    Map<String, MuxService> services = new TreeMap<>(now.services());
    if (old != null) {
      services.entrySet().removeAll(old.services().entrySet());
    }
    return services;
  }

  /** The number of services changes with their own events. */
  private static boolean isSame(Health old, Health now) {
    return old.leader() == now.leader()
        && old.epoch() == now.epoch()
        && old.zookeeper().equals(now.zookeeper())
        && old.leaderUrl().equals(now.leaderUrl());
  }

  private static ServiceEvent of(String name, Version version, boolean deleted) {
    return new ServiceEvent(name, version.version(), version.generation(), deleted);
  }

  private static DrainEvent drains(
      String service, Map<Integer, DrainWatch.Told> before, Map<Integer, DrainWatch.Told> now) {
    return new DrainEvent(
        service,
        now.values().stream().filter(told -> !told.equals(before.get(told.backend()))).toList(),
        before.keySet().stream().filter(id -> !now.containsKey(id)).toList());
  }

  private static SlowStartEvent of(
      String service, Map<Integer, SlowStart> before, Map<Integer, SlowStart> now) {
    return new SlowStartEvent(
        service,
        now.entrySet().stream()
            .filter(each -> !each.getValue().equals(before.get(each.getKey())))
            .map(each -> new Starting(each.getKey(), each.getValue().part()))
            .toList(),
        before.keySet().stream().filter(id -> !now.containsKey(id)).toList());
  }

  private static Event event(String type, Object data) {
    return new Event(0, type, Answer.encode(data).toString());
  }
}
