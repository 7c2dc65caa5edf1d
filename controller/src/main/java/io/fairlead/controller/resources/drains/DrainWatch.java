// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.Drain.End;
import io.fairlead.controller.core.image.Drain.Reason;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.agents.LiveConnections.Count;
import io.fairlead.controller.resources.hold.Questions;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.resources.plane.Result;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;

/**
 * When drains are over, and how far they are, by what agents and muxes report. Soft state of the
 * leader; what a drain is and when its deadline passes is in the image, so that a new leader ends
 * it at the same second.
 *
 * <p>A backend is empty if a report says so that answers what was asked {@link
 * Questions#waitSeconds} after its drain's generation was settled or later ({@link SettledMoves}):
 * every mux has applied it, or has withdrawn, those that are cut off from ZooKeeper included.
 * Before that a mux may send it a new connection. A bucket that could not move then is lost later,
 * and all of that begins again. When a report came says nothing: it may have been under way for
 * long.
 *
 * <p>An agent that is silent or was never heard proves nothing. Then, and for connections that no
 * packet reaches any more, a drain is over when no bucket names the backend.
 */
public final class DrainWatch {
  /** Between two samples, at least. */
  private static final Duration SAMPLE = Duration.ofMillis(500);

  /** How often connections left are told to those who follow events. */
  static final Duration TOLD = Duration.ofSeconds(10);

  /** Over which the rate is measured. */
  static final Duration RATE = Duration.ofSeconds(60);

  private final LiveConnections live;
  private final SettledServices settled;
  private final LongSupplier nanos;
  private final long start;

  @GuardedBy("this")
  private final Map<Key, Track> tracks = new HashMap<>();

  /** {@code service} is the id; {@code since} tells a drain from the next of the backend. */
  private record Key(int service, int backend, long since) {}

  private record Sample(Duration at, long connections) {}

  private static final class Track {
    private final Deque<Sample> samples = new ArrayDeque<>();

    /** The ring in which its losses were looked for. */
    private long generation;

    /** When it lost a bucket last, Unix seconds; 0: its ring does not say. */
    private long lost;

    private Optional<Long> shown = Optional.empty();
    private Duration shownAt = Duration.ZERO;
  }

  /**
   * What is known of a drain besides its order.
   *
   * @param connections by the latest report; empty if unknown
   * @param rate by which connections become fewer in a second; empty before there are two reports
   * @param secondsLeft until none is left, if it goes on like that
   * @param waitingFor what its reports wait for until they count
   * @param expires when it ends otherwise, in words; empty: only as empty or at the deadline
   */
  public record Progress(
      Optional<Count> connections,
      Optional<Double> rate,
      Optional<Long> secondsLeft,
      List<SettledMoves.Wait> waitingFor,
      Optional<String> expires) {}

  /**
   * @param nanos a monotonic clock, as {@link System#nanoTime}
   */
  public DrainWatch(LiveConnections live, SettledServices settled, LongSupplier nanos) {
    this.live = live;
    this.settled = settled;
    this.nanos = nanos;
    start = nanos.getAsLong();
  }

  private Duration now() {
    return Duration.ofNanos(nanos.getAsLong() - start);
  }

  /**
   * The drains of {@code image} that are over, by backend, and how. Called every moment while there
   * are drains; asks their agents for a report each second.
   *
   * @param isNamed whether packets may be chained to a backend
   */
  public SortedMap<Integer, End> ended(ServiceImage image, IntPredicate isNamed, Instant now) {
    forgetFormer(image);
    SortedMap<Integer, End> ends = new TreeMap<>();
    int[] owned = image.ring().owned();
    SettledMoves moves = settled.see(image);
    noteLosses(image);
    for (Map.Entry<Integer, Drain> each : image.transitions().drains().entrySet()) {
      if (each.getValue().isRunning()) {
        int id = each.getKey();
        live.watch(image.config().name(), id);
        Optional<Count> count = live.connections(image.config().name(), id);
        boolean isEmpty = sample(image, id, each.getValue(), moves, count);
        if (owned[id] == 0) {
          end(image.config(), each.getValue(), isEmpty, () -> isNamed.test(id), count, now)
              .ifPresent(
                  reason ->
                      ends.put(id, new End(reason, now.getEpochSecond(), count.map(Count::all))));
        }
      }
    }
    return ends;
  }

  private synchronized void forgetFormer(ServiceImage image) {
    Map<Integer, Drain> drains = image.transitions().drains();
    tracks
        .keySet()
        .removeIf(
            key ->
                key.service() == image.config().id()
                    && (!drains.containsKey(key.backend())
                        || drains.get(key.backend()).since() != key.since()));
  }

  @GuardedBy("this")
  private Track track(ServiceImage image, int id, Drain drain) {
    return tracks.computeIfAbsent(
        new Key(image.config().id(), id, drain.since()), key -> new Track());
  }

  /** One walk over each ring. */
  private synchronized void noteLosses(ServiceImage image) {
    Ring ring = image.ring();
    Track[] outdated = new Track[Backend.MAX + 1];
    boolean isAny = false;
    for (Map.Entry<Integer, Drain> each : image.transitions().drains().entrySet()) {
      Track track = track(image, each.getKey(), each.getValue());
      if (each.getValue().isRunning() && track.generation != ring.generation()) {
        track.generation = ring.generation();
        outdated[each.getKey()] = track;
        isAny = true;
      }
    }
    History last = History.NONE;
    for (int bucket = 0; isAny && bucket < ring.buckets(); bucket++) {
      History history = ring.history(bucket);
      for (int i = 0; history != last && i < history.size(); i++) {
        Track track = outdated[history.owner(i)];
        if (track != null) {
          track.lost = Math.max(track.lost, history.since(i));
        }
      }
      last = history;
    }
  }

  private static Optional<Reason> end(
      ServiceConfig config,
      Drain drain,
      boolean isEmpty,
      BooleanSupplier isNamed,
      Optional<Count> count,
      Instant now) {
    long seconds = now.getEpochSecond();
    boolean isWindowOver = seconds >= drain.since() + config.windowSeconds();
    if (isEmpty) {
      return Optional.of(Reason.EMPTY);
    }
    if (drain.deadline().filter(deadline -> seconds >= deadline).isPresent()) {
      return Optional.of(Reason.DEADLINE);
    }
    return isWindowOver && !isReached(config, count) && !isNamed.getAsBoolean()
        ? Optional.of(Reason.EXPIRED)
        : Optional.empty();
  }

  /** Whether it has connections that need no bucket, as far as its agent tells. */
  private static boolean isReached(ServiceConfig config, Optional<Count> count) {
    return count.isPresent()
        && (config.mptcpPorts().isPresent() || config.quicServerId().isPresent());
  }

  /** Takes in what was reported; returns whether the backend is empty. */
  private synchronized boolean sample(
      ServiceImage image, int id, Drain drain, SettledMoves moves, Optional<Count> count) {
    Duration now = now();
    Track track = track(image, id, drain);
    if (count.isEmpty()) {
      track.samples.clear();
      return false;
    }
    Duration heard = now.minus(count.get().age());
    Sample last = track.samples.peekLast();
    if (last == null || heard.minus(last.at()).compareTo(SAMPLE) > 0) {
      track.samples.addLast(new Sample(heard, count.get().all()));
      while (heard.minus(track.samples.peekFirst().at()).compareTo(RATE) > 0) {
        track.samples.removeFirst();
      }
    }
    OptionalLong settledFor = settledFor(moves, track, drain);
    long countedFor = settledFor.orElse(0) - Questions.waitSeconds(image.config());
    return count.get().isNone()
        && settledFor.isPresent()
        && count
            .get()
            .asked()
            .filter(age -> age.compareTo(Duration.ofSeconds(countedFor)) <= 0)
            .isPresent();
  }

  /** Whether it lost a bucket that did not move when the drain began. */
  private static boolean isLater(Track track, Drain drain) {
    return track.lost > drain.since();
  }

  /** For how many seconds no mux has sent it connections; empty: one may. */
  private static OptionalLong settledFor(SettledMoves moves, Track track, Drain drain) {
    return track != null && isLater(track, drain)
        ? moves.settledFor(track.lost)
        : moves.settledForGeneration(drain.generation());
  }

  private List<SettledMoves.Wait> waits(ServiceImage image, Track track, Drain drain) {
    SettledMoves moves = settled.seen(image);
    List<SettledMoves.Wait> settling =
        track != null && isLater(track, drain)
            ? moves.waits(track.lost)
            : moves.waitsOfGeneration(drain.generation());
    return Questions.waits(image.config(), settling, settledFor(moves, track, drain));
  }

  private static Optional<String> expires(ServiceConfig config, Track track, Drain drain) {
    if (config.releasesOwners()) {
      return Optional.of("ends as expired once no bucket names it");
    }
    long lost = track == null ? drain.since() : Math.max(drain.since(), track.lost);
    long at = lost + config.windowSeconds();
    return drain.deadline().filter(deadline -> deadline <= at).isPresent()
        ? Optional.empty()
        : Optional.of("ends as expired at %s".formatted(Instant.ofEpochSecond(at)));
  }

  /** How far a drain is. */
  public synchronized Progress progress(ServiceImage image, int id, Drain drain) {
    Track track = tracks.get(new Key(image.config().id(), id, drain.since()));
    Optional<Count> count = live.connections(image.config().name(), id);
    Optional<Double> rate = track == null ? Optional.empty() : rate(track.samples);
    Optional<Long> left =
        rate.filter(perSecond -> perSecond > 0 && count.isPresent())
            .map(perSecond -> (long) Math.ceil(count.get().all() / perSecond));
    if (!drain.isRunning()) {
      return new Progress(count, rate, left, List.of(), Optional.empty());
    }
    return new Progress(
        count,
        rate,
        left,
        waits(image, track, drain),
        isReached(image.config(), count)
            ? Optional.empty()
            : expires(image.config(), track, drain));
  }

  /**
   * A drain for those who follow events.
   *
   * @param state as in {@link DrainView}
   * @param connections of the leader's latest report, at most {@link #TOLD} old, or at the end
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Told(
      int backend,
      String state,
      Optional<Long> deadline,
      Optional<Reason> reason,
      Optional<Long> connections) {}

  /** The drains of a service, those of removed backends included, by id. */
  public synchronized SortedMap<Integer, Told> told(ServiceImage image) {
    SortedMap<Integer, Drain> all = new TreeMap<>(image.transitions().former());
    all.putAll(image.transitions().drains());
    SortedMap<Integer, Told> told = new TreeMap<>();
    all.forEach(
        (id, drain) ->
            told.put(
                id,
                new Told(
                    id,
                    DrainView.state(image, id, drain),
                    drain.deadline(),
                    drain.end().map(End::reason),
                    drain.end().isPresent()
                        ? drain.end().get().connections()
                        : told(tracks.get(new Key(image.config().id(), id, drain.since()))))));
    return told;
  }

  private Optional<Long> told(Track track) {
    if (track == null) {
      return Optional.empty();
    }
    Duration now = now();
    if (track.shown.isEmpty() || now.minus(track.shownAt).compareTo(TOLD) >= 0) {
      track.shown = Optional.ofNullable(track.samples.peekLast()).map(Sample::connections);
      track.shownAt = now;
    }
    return track.shown;
  }

  /** What a drain of these backends means, for the answer to its request. */
  public List<Result.Drained> plan(ServiceImage after, List<Integer> ids) {
    return ids.stream()
        .map(
            id -> {
              Drain drain = after.transitions().drains().get(id);
              return new Result.Drained(
                  id,
                  live.connections(after.config().name(), id).map(Count::all),
                  drain.deadline(),
                  drain.deadline().isPresent() && drain.then() == Drain.Then.REMOVE
                      ? "break at the deadline"
                      : "are chained until the "
                          + (after.config().holdSeconds() > 0 ? "hold" : "window")
                          + " is over");
            })
        .toList();
  }

  private static Optional<Double> rate(Deque<Sample> samples) {
    if (samples.size() < 2) {
      return Optional.empty();
    }
    Sample first = samples.peekFirst();
    Sample last = samples.peekLast();
    double seconds = last.at().minus(first.at()).toNanos() / 1e9;
    return Optional.of((first.connections() - last.connections()) / seconds);
  }
}
