// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Othello;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.othello.Claims;
import io.fairlead.controller.core.steering.othello.NeededOwners;
import io.fairlead.controller.core.steering.othello.NextArrays;
import io.fairlead.controller.core.steering.othello.NextArrays.Misfits;
import io.fairlead.controller.core.steering.othello.OthelloArrays;
import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.core.steering.othello.Pins;
import io.fairlead.controller.core.steering.othello.ServerBuckets;
import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import io.fairlead.controller.resources.agents.Report;
import io.fairlead.controller.resources.hold.Questions;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledMoves.Wait;
import io.fairlead.controller.resources.othello.Decision.Situation;
import io.fairlead.controller.resources.othello.Decision.Step;
import io.fairlead.controller.resources.othello.Memories.State;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.StoredService;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows the connections of one service steered by {@code othello}, and commits new arrays when they
 * are needed and allowed ({@link Decision}). Everything but {@link #accept} runs on the keeper's
 * own executor, one task at a time: a build takes up to seconds, and neither the service's event
 * thread nor a report waits for it.
 */
final class OthelloKeeper {
  private static final Logger LOG = LoggerFactory.getLogger(OthelloKeeper.class);

  /** Of one service. A connection takes some 40 bytes here. */
  static final int KNOWN_MAX = 8 << 20;

  /** Reported connections that have not been taken in, of one service: 32 MiB. */
  static final long WAITING_MAX = 4L << 20;

  /** How often another seed is tried for a graph without cycles; each succeeds in 7 of 10 cases. */
  private static final int SEEDS_MAX = 8;

  /** The share of time that looking at all known connections may take. */
  private static final int LOOK_SHARE = 20;

  private static final int FIRST_KEYS = 256;

  private final ArraysWriter writer;
  private final Surroundings around;
  private final Executor executor;
  private final OthelloCounters counters;
  private final Memories memories;
  private final AtomicBoolean isStepping = new AtomicBoolean();

  private final HeldArrays held;
  private boolean isLoaded;
  private KnownConnections known;
  private final RemovedBackends removed = new RemovedBackends();
  private final ReleasedOwners released = new ReleasedOwners();

  /** When this leader committed the newest arrays, by the clock; a spacing ago if it did not. */
  private long committedAt;

  /** Since when arrays have been needed, by the clock. */
  private OptionalLong neededAt = OptionalLong.empty();

  /** When the arrays were needed that all muxes got last, until they had them. */
  private OptionalLong lagFrom = OptionalLong.empty();

  private long lagNanos;
  private long buildNanos;
  private Optional<Look> last = Optional.empty();

  /** Arrays that are written ahead, until a generation names them. */
  private Optional<ComingArrays> coming = Optional.empty();

  private long seconds; // Unix, of the latest look
  private RefusedClaims refused = RefusedClaims.NONE;
  private volatile long knownSize;
  private volatile boolean isHurried;
  private volatile OthelloStatus status;

  /** The connections that are at other backends than their buckets', from one pass over all. */
  private record Look(
      long at,
      long took,
      Misfits misfits,
      int homeless,
      ServiceImage image,
      Set<Integer> owners,
      long changes) {
    int fixable() {
      return misfits.count() - homeless;
    }
  }

  OthelloKeeper(
      ArraysWriter writer, Surroundings around, Executor executor, OthelloCounters counters) {
    this.writer = writer;
    this.around = around;
    this.executor = executor;
    this.counters = counters;
    this.memories =
        new Memories(around.nanos(), around.random().getAsLong(), WAITING_MAX, KNOWN_MAX);
    ServiceConfig config = writer.stored().image().config();
    this.known =
        new KnownConnections(
            OthelloMap.sized(config.hash(), around.random().getAsLong(), FIRST_KEYS));
    this.held = new HeldArrays(around);
    this.status = OthelloStatus.beginning(writer.stored());
  }

  ArraysWriter writer() {
    return writer;
  }

  OthelloStatus status() {
    return status;
  }

  /** Takes in a report, or only that the server was heard. Any thread. */
  Report.Remembered accept(Place place, Optional<Changes> changes) {
    Memories.Answer answer =
        memories.accept(place.backends(), changes, knownSize, accepted -> submit(accepted));
    answer.refused().ifPresent(why -> counters.refusedReport(place.service()));
    return new Report.Remembered(place.service(), answer.memory(), answer.mark(), answer.refused());
  }

  /** When agents should report again: a quarter of what the window leaves. */
  int nextSeconds() {
    ServiceConfig config = writer.stored().image().config();
    Othello othello = config.othello().orElseThrow();
    int left = config.windowSeconds() - othello.reportAgeSeconds() - othello.spacingSeconds();
    return isHurried ? 1 : Math.min(10, Math.max(1, left / 4));
  }

  private void submit(Memories.Accepted accepted) {
    try {
      executor.execute(() -> take(accepted));
    } catch (RejectedExecutionException e) {
      LOG.debug("no report of service '{}': the controller is stopping", name());
    }
  }

  /** Looks after the service in the background; called every moment. */
  void step() {
    if (!writer.isGone() && isStepping.compareAndSet(false, true)) {
      try {
        executor.execute(this::run);
      } catch (RejectedExecutionException e) {
        LOG.debug("no step of service '{}': the controller is stopping", name());
      }
    }
  }

  private void take(Memories.Accepted accepted) {
    try {
      if (!isLoaded) {
        memories.lost(accepted); // claims are judged by the arrays
      } else if (memories.isCurrent(accepted)) {
        Ring ring = writer.stored().image().ring();
        RefusedClaims more =
            known.take(Memories.backends(accepted), accepted.changes(), claimants(ring));
        counters.refusedClaims(name(), more);
        refused = refused.plus(more);
        knownSize = known.map().size();
      }
      memories.taken(accepted);
    } catch (RuntimeException | Error e) {
      memories.lost(accepted);
      LOG.error("connections of service '{}'", name(), e);
    }
  }

  /** Whether a connection that another server reports now would be known to have ended here. */
  private boolean isPrompt(int backend) {
    Othello othello = writer.stored().image().config().othello().orElseThrow();
    long opened = around.nanos().getAsLong() - nanosOf(othello.reportAgeSeconds()) * 7 / 8;
    return memories.state(backend, OptionalLong.of(opened)) == State.REPORTED;
  }

  private Claims.Rule claimants(Ring ring) {
    return held.isLost()
        ? Claimants.ANYONE
        : new Claimants(ring, held.codes(ring.buckets()), held.codesBefore(), this::isPrompt);
  }

  private void run() {
    boolean isWaiting = false;
    try {
      StoredService stored = writer.stored();
      if (stored.image().config().othello().isPresent()) {
        adopt(stored);
        held.compare(stored.image().config());
        OptionalLong now = around.seconds().get();
        if (now.isPresent()) {
          seconds = now.getAsLong();
          isWaiting = look(stored);
        } else {
          status = status.failed(OthelloStatus.NO_CLOCK);
        }
      }
    } catch (StoreException e) {
      if (!status.fallback().equals(Optional.of(e.getMessage()))) {
        LOG.warn("{}", e.getMessage());
      }
      status = status.failed(e.getMessage());
    } catch (RuntimeException | Error e) {
      LOG.error("arrays of service '{}'", name(), e);
      status = status.failed(e.toString());
    } finally {
      if (!isWaiting) {
        isStepping.set(false);
      }
    }
  }

  /** Knows the arrays that are committed. */
  private void adopt(StoredService stored) throws StoreException {
    Optional<LatestArrays> latest = stored.state().arrays();
    Optional<Long> mine = held.latest().map(LatestArrays::generation);
    if (isLoaded && latest.equals(held.said())) {
      return;
    }
    boolean isRead = held.adopt(stored);
    if (isRead && known.map().size() == 0 && held.arrays().isPresent()) {
      known = new KnownConnections(OthelloMap.over(held.arrays().get().newest()));
    }
    if (!isLoaded) {
      // The spacing only bounds the work; it must not start again with each leader.
      int spacing = stored.image().config().othello().orElseThrow().spacingSeconds();
      committedAt = around.nanos().getAsLong() - nanosOf(spacing);
    } else if (!mine.equals(held.latest().map(LatestArrays::generation))) {
      committedAt = around.nanos().getAsLong();
    }
    last = Optional.empty();
    isLoaded = true;
  }

  /** Decides and acts; returns whether a commit is under way. */
  private boolean look(StoredService stored) {
    ServiceImage image = stored.image();
    Othello othello = image.config().othello().orElseThrow();
    long now = around.nanos().getAsLong();
    known.retain(image.ring().listedBackends());
    knownSize = known.map().size();
    Set<Integer> gone = removed.see(image, seconds);
    LeftBuckets left = LeftBuckets.of(image, gone, id -> known.map().size(id));
    ServerBuckets buckets = left.servers(image.ring());
    Set<Integer> owners = new TreeSet<>(image.pool().keySet());
    owners.addAll(gone);
    Look seen = seen(image, owners, buckets, now);
    SettledMoves moves = around.settled().see(image);
    List<Wait> waits = waits(moves, now);
    List<String> muxes = waits.stream().flatMap(wait -> wait.mux().stream()).toList();
    List<Integer> incomplete = missing(owners, OptionalLong.empty());
    long lapsedFor =
        lapsedFor(
            moves.settledForGeneration(held.latest().map(LatestArrays::generation).orElse(0L)),
            image.config());
    long spacing = nanosOf(othello.spacingSeconds()) - (now - committedAt);
    List<Integer> late =
        waits.isEmpty() && lapsedFor >= 0
            ? missing(
                owners, OptionalLong.of(now + Math.max(nanosOf(age(othello) - lapsedFor), spacing)))
            : incomplete;
    long opening = absentSeconds(waits) - lapsedFor;
    Decision usual =
        Decision.of(
            new Situation(
                held.isDamaged(),
                held.isUnknown(),
                held.latest().isPresent(),
                held.latest().map(LatestArrays::isSettled).orElse(true),
                seen.fixable(),
                seen.misfits().isSplit(),
                TimeUnit.NANOSECONDS.toSeconds(spacing + nanosOf(1) - 1),
                around.arraysWait() ? incomplete : List.of(),
                around.arraysWait() ? late : List.of(),
                around.arraysWait() ? muxes : List.of(),
                around.arraysWait() ? opening : 0));
    Decision decision =
        coming
            .map(
                these ->
                    these.decide(
                        name(), around.arraysWait() ? around.muxes().get() : List.of(), now))
            .orElse(usual);
    if (seen.fixable() == 0) {
      neededAt = OptionalLong.empty();
    } else if (neededAt.isEmpty()) {
      neededAt = OptionalLong.of(now);
    }
    isHurried =
        decision.step() == Step.WAIT && !decision.agents().isEmpty() && neededAt.isPresent();
    report(stored, seen, left, decision, now);
    boolean hasArrays = held.latest().isPresent();
    ReleasedOwners.Needed needed =
        ReleasedOwners.needed(
            owners,
            left,
            seen.changes() == known.changes() // else it has not seen all that are known
                ? seen.misfits().needed()
                : NeededOwners.everywhere(buckets.buckets()),
            (id, at) -> isAwaited(id, at, moves.settledFor(at), image.config(), hasArrays));
    return act(image, owners, buckets, needed, decision, Math.min(0, spacing));
  }

  /** At which agents report a connection, at the latest. */
  private static int age(Othello othello) {
    return othello.reportAgeSeconds() + Othello.HANDSHAKE_SECONDS;
  }

  /** For how many seconds no SYN cookie from before a commit can come back; below 0: one may. */
  private static long lapsedFor(OptionalLong settledFor, ServiceConfig config) {
    return settledFor.orElse(0) - Questions.waitSeconds(config);
  }

  /**
   * Whether the backend has yet to report all that it opened in a bucket before it lost it. One
   * that may have no agent has the window.
   *
   * @param lost then, in Unix seconds
   */
  private boolean isAwaited(
      int backend, long lost, OptionalLong settledFor, ServiceConfig config, boolean hasArrays) {
    long ago = lapsedFor(settledFor, config) - age(config.othello().orElseThrow());
    OptionalLong since =
        ago < 0 ? OptionalLong.empty() : OptionalLong.of(around.nanos().getAsLong() - nanosOf(ago));
    return memories.isAwaited(backend, since, hasArrays)
        || (!memories.isHeard(backend) && seconds < lost + config.windowSeconds());
  }

  private Look seen(ServiceImage image, Set<Integer> owners, ServerBuckets buckets, long now) {
    boolean isSame =
        last.isPresent()
            && last.get().image() == image
            && last.get().owners().equals(owners)
            && last.get().changes() == known.changes();
    boolean isEarly = last.isPresent() && now - last.get().at() < LOOK_SHARE * last.get().took();
    if (isSame || (isEarly && last.get().image() == image)) {
      return last.get();
    }
    long start = System.nanoTime();
    Misfits misfits = misfits(image, owners, buckets);
    Look look =
        new Look(
            now,
            System.nanoTime() - start,
            misfits,
            known.homeless(buckets),
            image,
            owners,
            known.changes());
    last = Optional.of(look);
    return look;
  }

  private Misfits misfits(ServiceImage image, Set<Integer> owners, ServerBuckets buckets) {
    if (held.isUnknown()) { // any bucket may be that of a known connection
      return new Misfits(0, NeededOwners.everywhere(buckets.buckets()), false);
    }
    return NextArrays.misfits(
        known.map(),
        held.codes(buckets.buckets()),
        held.codesBefore(),
        buckets,
        pins(image, owners));
  }

  private Pins pins(ServiceImage image, Set<Integer> owners) {
    return held.isLost() ? Pins.NONE : known.pins(image, owners, held.arrays());
  }

  /** What the newest arrays wait for; notes since when all muxes have them. */
  private List<Wait> waits(SettledMoves moves, long now) {
    if (held.latest().isEmpty()) {
      return List.of();
    }
    long generation = held.latest().get().generation();
    List<Wait> waits = moves.waitsOfGeneration(generation);
    if (lagFrom.isPresent() && waits.stream().allMatch(wait -> wait.mux().isEmpty())) {
      lagNanos = now - lagFrom.getAsLong();
      lagFrom = OptionalLong.empty();
    }
    return waits;
  }

  /** Until a mux opens no connections any more that this controller never saw. */
  private static long absentSeconds(List<Wait> waits) {
    return waits.stream()
        .filter(wait -> wait.mux().isEmpty())
        .mapToLong(wait -> Math.max(1, wait.secondsLeft().orElse(1)))
        .max()
        .orElse(0);
  }

  /** Backends that may have connections and have not reported so far. */
  private List<Integer> missing(Set<Integer> owners, OptionalLong since) {
    return owners.stream().filter(id -> memories.state(id, since) != State.REPORTED).toList();
  }

  private static long nanosOf(long seconds) {
    return TimeUnit.SECONDS.toNanos(seconds);
  }

  /** Returns whether a commit is under way; {@code spacing} is 0 or below, how long it is over. */
  private boolean act(
      ServiceImage image,
      Set<Integer> owners,
      ServerBuckets buckets,
      ReleasedOwners.Needed needed,
      Decision decision,
      long spacing) {
    Optional<CommittedArrays.Next> next = Optional.empty();
    Optional<WrittenAhead> ahead = Optional.empty();
    if (decision.step() == Step.BUILD) {
      long start = System.nanoTime();
      CommittedArrays.Next built = next(image, owners, buckets);
      buildNanos = System.nanoTime() - start;
      long allowedAt = around.nanos().getAsLong() + spacing;
      lagFrom = OptionalLong.of(Math.max(allowedAt, neededAt.orElse(allowedAt)));
      next = Optional.of(built);
      if (!around.store().fitsOneStep(built.write().size())) {
        ahead = Optional.of(WrittenAhead.of(built));
      }
    } else if (decision.step() == Step.NAME) {
      return commit(coming.orElseThrow(), needed);
    } else if (decision.step() == Step.REPAIR) {
      ahead = Optional.of(WrittenAhead.again(held.arrays().orElseThrow()));
    } else if (decision.step() == Step.SETTLE) {
      next = Optional.of(held.arrays().orElseThrow().settled());
    } else if (!released.areDue(image, needed, seconds)) {
      return false;
    }
    ArraysProposal proposal = new ArraysProposal(held.said(), next, needed);
    if (ahead.isPresent() && decision.step() == Step.BUILD) {
      announce(ahead.get(), proposal, image);
      return true;
    }
    Optional<WrittenAhead> early = ahead;
    early
        .map(all -> writer.commitArrays(all.ahead(), done -> proposal.with(all.next().apply(done))))
        .orElseGet(() -> writer.commitArrays(proposal))
        .whenCompleteAsync((done, failure) -> committed(early, done, failure), executor);
    return true;
  }

  /** Writes arrays ahead and says where, so that muxes read them while other changes go on. */
  private void announce(WrittenAhead ahead, ArraysProposal proposal, ServiceImage image) {
    AtomicReference<List<Long>> written = new AtomicReference<>();
    long from = lagFrom.orElseThrow();
    lagFrom = OptionalLong.empty();
    writer
        .commitArrays(
            ahead.ahead(),
            numbers -> {
              written.set(numbers);
              return proposal.with(
                  CommittedArrays.Next.announcing(proposal.from(), ahead.source().apply(numbers)));
            })
        .whenCompleteAsync(
            (done, failure) -> {
              if (failure != null) {
                LOG.debug("arrays of service '{}': {}", name(), failure.toString());
              } else if (done.flatMap(ArraysWriter.Commit::arrays).isPresent()) {
                CommittedArrays.Next named = ahead.next().apply(written.get());
                long until =
                    around.nanos().getAsLong()
                        + nanosOf(ComingArrays.seconds(image.config().windowSeconds()));
                long last = ahead.source().apply(written.get()).generation();
                coming =
                    Optional.of(new ComingArrays(ahead, proposal.with(named), last, from, until));
              }
              isStepping.set(false);
            },
            executor);
  }

  private boolean commit(ComingArrays these, ReleasedOwners.Needed needed) {
    coming = Optional.empty();
    lagFrom = OptionalLong.of(these.neededAt());
    writer
        .commitArrays(these.proposal().at(held.said(), needed))
        .whenCompleteAsync(
            (done, failure) -> committed(Optional.of(these.ahead()), done, failure), executor);
    return true;
  }

  private CommittedArrays.Next next(
      ServiceImage image, Set<Integer> owners, ServerBuckets buckets) {
    int service = image.config().id();
    OthelloArrays built = build(image.ring().generation() + 1, buckets, pins(image, owners));
    return held.isUnknown()
        ? CommittedArrays.afterLost(service, held.latest().orElseThrow(), built)
        : CommittedArrays.next(service, held.arrays(), built);
  }

  private void committed(
      Optional<WrittenAhead> ahead, Optional<ArraysWriter.Commit> done, Throwable failure) {
    if (failure != null) {
      LOG.debug("arrays of service '{}': {}", name(), failure.toString());
    } else {
      // without a word of what was written, it is read
      Optional<CommittedArrays> written =
          done.flatMap(ArraysWriter.Commit::arrays).flatMap(CommittedArrays.Next::committed);
      held.written(written);
      written.map(CommittedArrays::latest).ifPresent(this::log);
      done.ifPresent(commit -> count(commit, written.isPresent() ? ahead : Optional.empty()));
    }
    isStepping.set(false);
  }

  private void count(ArraysWriter.Commit commit, Optional<WrittenAhead> ahead) {
    if (commit.releases().size() > 0) {
      counters.committed(name(), "release", 0);
    }
    if (ahead.isPresent()) {
      counters.committed(name(), ahead.get().kind(), ahead.get().bytes());
    } else {
      commit.arrays().ifPresent(next -> counters.committed(name(), next.kind(), next.bytes()));
    }
  }

  /** Each is rare: it tells when, beside other events. */
  private void log(LatestArrays latest) {
    String before = latest.previous().map(previous -> "after " + previous).orElse("alone");
    LOG.info("service '{}': arrays {} {}", name(), latest.generation(), before);
  }

  /** The next arrays: by few changes if that is possible, otherwise of another seed. */
  private OthelloArrays build(long generation, ServerBuckets buckets, Pins pins) {
    Optional<OthelloArrays> newest = held.arrays().map(CommittedArrays::newest);
    if (!known.map().needsRebuild()
        && newest.map(OthelloArrays::hash).equals(Optional.of(known.map().hash()))) {
      NextArrays next = NextArrays.change(known.map(), newest.get(), generation, buckets, pins);
      if (next.unplaced() == 0) {
        counters.built(name(), "change");
        return next.arrays();
      }
    }
    for (int seed = 0; seed == 0 || (seed < SEEDS_MAX && known.map().beside() > 0); seed++) {
      known.map().rebuild(around.random().getAsLong());
    }
    counters.built(name(), "fresh");
    return NextArrays.fresh(known.map(), generation, buckets, pins).arrays();
  }

  private void report(
      StoredService stored, Look seen, LeftBuckets left, Decision decision, long now) {
    status =
        OthelloStatus.of(
            stored,
            held.arrays(),
            Optional.of(known.map()),
            new OthelloStatus.Now(
                held.damage(),
                seen.misfits().count(),
                seen.homeless(),
                known.disputed(),
                left.counts(),
                decision,
                refused,
                silent(stored.image()),
                TimeUnit.NANOSECONDS.toSeconds(lagNanos),
                neededAt.isPresent()
                    ? TimeUnit.NANOSECONDS.toSeconds(now - neededAt.getAsLong())
                    : 0,
                TimeUnit.NANOSECONDS.toMillis(buildNanos)));
  }

  private List<Integer> silent(ServiceImage image) {
    return image.pool().keySet().stream()
        .filter(id -> memories.state(id, OptionalLong.empty()) == State.SILENT)
        .toList();
  }

  private String name() {
    return writer.stored().image().config().name();
  }
}
