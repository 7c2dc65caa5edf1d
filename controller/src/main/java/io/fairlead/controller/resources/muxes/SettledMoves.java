// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Ring;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Which commits are settled. After a commit is settled, no mux opens connections by the state
 * before it: at a moved bucket's former owner, at a draining backend, or by older arrays. Until
 * then, a report of no such connections proves nothing: a mux that is behind may still open one.
 *
 * <p>A mux that is present must have applied the move, or have withdrawn the service as too far
 * behind. One that is absent from ZooKeeper hears from the others that it is behind, and withdraws
 * within its {@code behindSeconds}; how far it is, is not known. It does so only if at least half
 * of the muxes are ahead (protocol/README.md §9). A move is settled only if at least one mux
 * announces it, and at least as many as must withdraw for it; otherwise no mux might be left. A
 * controller does not know which muxes were absent before it began to watch, so every move waits
 * for as long.
 *
 * <p>Services may share a VIP, which a mux announces as long as it announces one of them. So a mux
 * has withdrawn a service only once it has withdrawn all that share a VIP of it.
 *
 * <p>Before anything acts on it, muxes are told ({@link Told}), and each that is present has stored
 * it: a mux that has withdrawn announces nothing from before that generation, whoever is gone by
 * then, and however alone it restarts. One that is absent has had the time to hear it from others.
 *
 * <p>For one service. Thread-safe.
 */
public final class SettledMoves {
  /**
   * Longer than a mux takes to learn from the others' hellos that it is behind, and routers to
   * follow when it withdraws.
   */
  public static final int MARGIN_SECONDS = 10;

  private static final long NOT_YET = Long.MAX_VALUE;

  private static final String WITHDRAWS =
      "has no session with ZooKeeper, and withdraws once it is behind";

  private static final String GOES_ON =
      "has no session with ZooKeeper, and may go on although it is behind";

  private static final String KEEPS = "has withdrawn, but announces VIPs of it for service '%s'";

  private static final String MAY_KEEP =
      "has no session with ZooKeeper, and may announce VIPs of it for service '%s'";

  private static final String UNREADABLE = "has a node that cannot be read";

  private static final String UNKNOWN = "some mux may be absent that this controller never saw";

  private static final String HEARS =
      "has no session with ZooKeeper, and hears from other muxes what is settled";

  private static final String TOO_FEW =
      "too few muxes announce generation %d for those that lack it to stay withdrawn";

  private static final String NOT_TOLD = "muxes are being told of it";

  private static final Wait UNSEEN =
      new Wait(
          Optional.empty(),
          "the leader has yet to look at muxes after this move",
          OptionalLong.empty());

  /** Tells muxes which generations are settled. */
  @FunctionalInterface
  public interface Told {
    /** That they are told at once. */
    Told AT_ONCE = (service, generation) -> generation;

    /**
     * Has muxes told that this generation of a service is settled.
     *
     * @return which they have been told by now, 0 if none
     */
    long tell(int service, long generation);
  }

  /** The other services of which VIPs are those of one service. */
  @FunctionalInterface
  public interface Sharing {
    /** It has its VIPs alone. */
    Sharing NONE = other -> OptionalLong.empty();

    /**
     * Whether a service has a VIP of this one.
     *
     * @return its newest generation if it has, or may have; 0: unknown, or it is deleted
     */
    OptionalLong generation(String other);
  }

  /**
   * So that a mux which is behind for days costs no memory. Of more, the last but one is dropped,
   * which then counts as the last: it settles later, and those before it as if there were no more.
   */
  private static final int COMMITS_MAX = 1024;

  /**
   * What a commit waits for.
   *
   * @param mux its id; empty: one that may be absent, of which this controller does not know
   * @param secondsLeft empty: unknown
   */
  public record Wait(Optional<String> mux, String why, OptionalLong secondsLeft) {
    /** In words. */
    public String text() {
      return mux.map(id -> id + " ").orElse("") + why;
    }

    /** In words, and for how long, if that is known. */
    public String words() {
      return text()
          + (secondsLeft.isPresent() ? ", for %d s".formatted(secondsLeft.getAsLong()) : "");
    }
  }

  @GuardedBy("this")
  private Wait wait(Optional<MuxView> mux, String why, long until) {
    return new Wait(
        mux.map(MuxView::id),
        why,
        until == NOT_YET ? OptionalLong.empty() : OptionalLong.of(until - seen));
  }

  private static final class Commit {
    private final long generation;

    /** Unix seconds, as in the ring. */
    private final long at;

    /** The same by the monotonic clock, or later. */
    private final long committed;

    private long settled = NOT_YET;

    /** Since when muxes are told. */
    private long told = NOT_YET;

    private Commit(long generation, long at, long committed) {
      this.generation = generation;
      this.at = at;
      this.committed = committed;
    }
  }

  /** Ascending, settled ones first. What comes before counts as the first, which is later. */
  @GuardedBy("this")
  private final List<Commit> commits = new ArrayList<>();

  /**
   * A mux has withdrawn the service as too far behind.
   *
   * @param since when this is known, and that it announces none of its VIPs
   * @param keptFor another service for which it announces one
   */
  private record Withdrawn(long since, Optional<String> keptFor) {}

  /** By mux. */
  @GuardedBy("this")
  private final Map<String, Withdrawn> withdrawn = new HashMap<>();

  /** What an absent mux announced when it was seen last, which has a VIP of this service. */
  private record Shared(String mux, long gone, String service) {}

  /** Since when the mux lacks generations of it, for which it withdraws; NOT_YET: it does not. */
  @GuardedBy("this")
  private final Map<Shared, Long> shared = new HashMap<>();

  /** As they were seen last, and when. */
  @GuardedBy("this")
  private MuxPresence muxes = MuxPresence.NONE;

  @GuardedBy("this")
  private long seen;

  @GuardedBy("this")
  private String service = "";

  private final Told toldBy;

  /** The generation that muxes are told is settled. */
  @GuardedBy("this")
  private long told;

  public SettledMoves(Told toldBy) {
    this.toldBy = toldBy;
  }

  /**
   * Takes note of what is committed, and of where muxes are.
   *
   * @param now by the clock of {@code presence}
   * @param age for how many seconds at least the image has been committed
   */
  public synchronized void see(
      ServiceImage image, MuxPresence presence, Sharing sharing, long now, long age) {
    Ring ring = image.ring();
    muxes = presence;
    seen = now;
    service = image.config().name();
    if (commits.isEmpty() || commits.get(commits.size() - 1).generation < ring.generation()) {
      commits.add(new Commit(ring.generation(), ring.committed(), committed(now - age)));
    }
    noteWithdrawn(sharing);
    noteShared(sharing, ring.generation());
    tell(image.config().id());
    for (int i = commits.size() - 1; i >= 0 && commits.get(i).settled == NOT_YET; i--) {
      if (waits(commits.get(i)).isEmpty()) {
        commits.get(i).settled = now;
      }
    }
    if (commits.size() > COMMITS_MAX) {
      commits.remove(commits.get(1).settled == NOT_YET ? commits.size() - 2 : 0);
    }
  }

  /**
   * When a generation was committed that may have been at {@code at}: not before the one before it.
   * Two seconds of clocks that do not turn at once can say so, and commits settle in their order.
   */
  @GuardedBy("this")
  private long committed(long at) {
    return commits.isEmpty() ? at : Math.max(at, commits.get(commits.size() - 1).committed);
  }

  @GuardedBy("this")
  private void tell(int id) {
    for (int i = commits.size() - 1; i >= 0 && commits.get(i).settled == NOT_YET; i--) {
      if (opening(commits.get(i)).isEmpty()) {
        told = Math.max(told, toldBy.tell(id, commits.get(i).generation));
        return;
      }
    }
  }

  @GuardedBy("this")
  private void noteWithdrawn(Sharing sharing) {
    Map<String, Withdrawn> before = Map.copyOf(withdrawn);
    withdrawn.clear();
    for (MuxPresence.Present each : muxes.present()) {
      String id = each.mux().id();
      if (of(each.mux()).filter(at -> !at.isServed()).isPresent()) {
        Optional<String> keptFor =
            others(each.mux(), sharing).stream()
                .filter(other -> each.mux().services().get(other).isServed())
                .findFirst();
        Optional<Withdrawn> already =
            Optional.ofNullable(before.get(id)).filter(last -> last.keptFor().isEmpty());
        withdrawn.put(id, new Withdrawn(already.map(Withdrawn::since).orElse(seen), keptFor));
      }
    }
  }

  /** Only while it matters: a mux may be absent for a day, and have a thousand services. */
  @GuardedBy("this")
  private void noteShared(Sharing sharing, long generation) {
    Map<Shared, Long> before = Map.copyOf(shared);
    shared.clear();
    if (isSettled(generation)) {
      return;
    }
    for (MuxPresence.Absent each : lacking(service, generation)) {
      for (String other : others(each.mux(), sharing)) {
        MuxService has = each.mux().services().get(other);
        if (has.isAnnounced()) {
          boolean withdraws =
              has.generation() < sharing.generation(other).orElse(0)
                  && enoughAreAhead(other, has.generation() + 1);
          Shared key = new Shared(each.mux().id(), each.gone(), other);
          Long last = before.get(key);
          long since = last == null || last == NOT_YET ? seen : last;
          shared.put(key, withdraws ? since : NOT_YET);
        }
      }
    }
  }

  /** The services of which a mux has a ring and which share a VIP with this one. */
  @GuardedBy("this")
  private List<String> others(MuxView mux, Sharing sharing) {
    String own = service;
    return mux.services().keySet().stream()
        .filter(other -> !other.equals(own) && of(mux, other).isPresent())
        .filter(other -> sharing.generation(other).isPresent())
        .sorted()
        .toList();
  }

  /** What a mux says of the service, if it has a ring of it. */
  @GuardedBy("this")
  private Optional<MuxService> of(MuxView mux) {
    return of(mux, service);
  }

  private static Optional<MuxService> of(MuxView mux, String service) {
    return Optional.ofNullable(mux.services().get(service)).filter(at -> at.generation() > 0);
  }

  @GuardedBy("this")
  private List<Wait> waits(Commit commit) {
    List<Wait> waits = opening(commit);
    if (!waits.isEmpty()) {
      return waits;
    }
    if (told < commit.generation) {
      return List.of(wait(Optional.empty(), NOT_TOLD, NOT_YET));
    }
    if (commit.told == NOT_YET) {
      commit.told = seen;
    }
    for (MuxPresence.Present each : muxes.present()) {
      Optional<MuxService> at = of(each.mux());
      if (at.isPresent() && !at.get().keeps(commit.generation)) {
        String lacks = "has not stored that generation %d is settled";
        waits.add(wait(Optional.of(each.mux()), lacks.formatted(commit.generation), NOT_YET));
      }
    }
    long heard = commit.told + MARGIN_SECONDS;
    for (MuxPresence.Absent each : lacking(service, commit.generation)) {
      if (seen < heard) {
        waits.add(wait(Optional.of(each.mux()), HEARS, heard));
      }
    }
    return waits;
  }

  /** Who may open connections by what was before. */
  @GuardedBy("this")
  private List<Wait> opening(Commit commit) {
    List<Wait> waits = new ArrayList<>();
    int behind = 0;
    for (MuxPresence.Present each : muxes.present()) {
      behind = Math.max(behind, each.behindSeconds());
      Optional<MuxService> at = of(each.mux());
      if (at.isPresent() && !at.get().has(commit.generation)) {
        present(each.mux(), at.get(), commit, withdrawn.get(each.mux().id())).ifPresent(waits::add);
      }
    }
    for (String id : muxes.unreadable()) {
      waits.add(new Wait(Optional.of(id), UNREADABLE, OptionalLong.empty()));
    }
    boolean enoughAreAhead = enoughAreAhead(service, commit.generation);
    for (MuxPresence.Absent each : lacking(service, commit.generation)) {
      absent(each, commit, enoughAreAhead).ifPresent(waits::add);
    }
    if (!enoughAreAhead && waits.isEmpty()) {
      String few = TOO_FEW.formatted(commit.generation);
      waits.add(wait(Optional.empty(), few, NOT_YET));
    }
    long usual =
        quiet(
            muxes.watchedSince(),
            commit.committed,
            behind > 0 ? behind : MuxPresence.BEHIND_SECONDS_DEFAULT);
    if (seen < usual) {
      waits.add(wait(Optional.empty(), UNKNOWN, usual));
    }
    return waits;
  }

  /**
   * Whether so many muxes announce a generation that those which lack it withdraw for them, and
   * stay withdrawn: as many as have withdrawn or may have to, so that these are at most half of the
   * muxes. And one, unless each mux that is added refuses the service: some may serve it of whom
   * nothing is known.
   */
  @GuardedBy("this")
  private boolean enoughAreAhead(String of, long generation) {
    long ahead = 0;
    long refuse = 0;
    long behind = lacking(of, generation).size();
    for (MuxPresence.Present each : muxes.present()) {
      MuxService at = each.mux().services().get(of);
      if (at != null && at.generation() > 0) {
        boolean isWell = at.isServed() && !at.isSick();
        behind += isWell ? 0 : 1;
        ahead += isWell && at.isAnnounced() && at.has(generation) ? 1 : 0;
      }
      refuse += at != null && at.isRefused() ? 1 : 0;
    }
    return ahead >= Math.max(behind, muxes.added() > refuse ? 1 : 0);
  }

  /** Muxes without a session that may go back to what was before. */
  @GuardedBy("this")
  private List<MuxPresence.Absent> lacking(String of, long generation) {
    return muxes.absent().stream()
        .filter(
            each ->
                of(each.mux(), of)
                    .filter(at -> at.isAnnounced() && !at.has(generation))
                    .isPresent())
        .toList();
  }

  @GuardedBy("this")
  private Optional<Wait> absent(MuxPresence.Absent mux, Commit commit, boolean enoughAreAhead) {
    if (mux.behindSeconds() == 0 || !enoughAreAhead) {
      return Optional.of(wait(Optional.of(mux.mux()), GOES_ON, NOT_YET));
    }
    long until = quiet(mux.gone(), commit.committed, mux.behindSeconds());
    for (Map.Entry<Shared, Long> each : shared.entrySet()) {
      if (each.getKey().mux().equals(mux.mux().id())) {
        if (each.getValue() == NOT_YET) {
          String keeps = MAY_KEEP.formatted(each.getKey().service());
          return Optional.of(wait(Optional.of(mux.mux()), keeps, NOT_YET));
        }
        until = Math.max(until, quiet(each.getValue(), commit.committed, mux.behindSeconds()));
      }
    }
    return seen < until
        ? Optional.of(wait(Optional.of(mux.mux()), WITHDRAWS, until))
        : Optional.empty();
  }

  /** A mux that lacks the commit, and how it has withdrawn the service, or null. */
  @GuardedBy("this")
  private Optional<Wait> present(MuxView mux, MuxService at, Commit commit, Withdrawn how) {
    if (how == null) {
      String lacks =
          at.generation() < commit.generation
              ? "has not applied generation %d"
              : "has not stored generation %d";
      return Optional.of(wait(Optional.of(mux), lacks.formatted(commit.generation), NOT_YET));
    }
    if (how.keptFor().isPresent()) {
      return Optional.of(wait(Optional.of(mux), KEEPS.formatted(how.keptFor().get()), NOT_YET));
    }
    long until = Math.max(how.since(), commit.committed) + MARGIN_SECONDS;
    return seen < until
        ? Optional.of(wait(Optional.of(mux), "has just withdrawn", until))
        : Optional.empty();
  }

  /** When a mux has withdrawn that has had no session since {@code gone}, and lacks a commit. */
  private static long quiet(long gone, long committed, int behindSeconds) {
    long behind = Math.max(gone, committed);
    return behind >= NOT_YET - behindSeconds - MARGIN_SECONDS
        ? NOT_YET
        : behind + behindSeconds + MARGIN_SECONDS;
  }

  /**
   * For how many seconds no mux has opened connections by what a bucket was before it moved at
   * {@code since}, Unix seconds; empty: one may.
   */
  public synchronized OptionalLong settledFor(long since) {
    return settledFor(at(since));
  }

  /** For how many seconds no mux has opened connections without this generation; empty: one may. */
  public synchronized OptionalLong settledForGeneration(long generation) {
    return settledFor(of(generation));
  }

  /** Whether no mux opens connections without this generation. */
  public synchronized boolean isSettled(long generation) {
    return settledForGeneration(generation).isPresent();
  }

  @GuardedBy("this")
  private OptionalLong settledFor(Optional<Commit> commit) {
    return commit.isEmpty() || commit.get().settled == NOT_YET
        ? OptionalLong.empty()
        : OptionalLong.of(seen - commit.get().settled);
  }

  /** What a move at {@code since} still waits for, until it is settled. */
  public synchronized List<Wait> waits(long since) {
    return at(since).map(this::left).orElse(List.of(UNSEEN));
  }

  /** What a generation still waits for, until it is settled. */
  public synchronized List<Wait> waitsOfGeneration(long generation) {
    return of(generation).map(this::left).orElse(List.of(UNSEEN));
  }

  @GuardedBy("this")
  private List<Wait> left(Commit commit) {
    return commit.settled == NOT_YET ? waits(commit) : List.of();
  }

  /** The first commit that is this generation or a later one. */
  @GuardedBy("this")
  private Optional<Commit> of(long generation) {
    return commits.stream().filter(commit -> commit.generation >= generation).findFirst();
  }

  /** The commit with all that was committed until {@code since}. */
  @GuardedBy("this")
  private Optional<Commit> at(long since) {
    for (int i = first(since); i < commits.size(); i++) {
      Commit commit = commits.get(i);
      // Two commits may be of one second, and one of them may not have been seen.
      boolean hasAll =
          i + 1 == commits.size()
              || commit.at > since
              || (commits.get(i + 1).at > since
                  && commits.get(i + 1).generation == commit.generation + 1);
      if (hasAll) {
        return Optional.of(commit);
      }
    }
    return Optional.empty();
  }

  /** The first commit of this second or later. */
  @GuardedBy("this")
  private int first(long since) {
    int from = 0;
    int to = commits.size();
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (commits.get(middle).at < since) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }
}
