// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.muxes.MuxPresence;
import io.fairlead.controller.muxes.MuxService;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.ring.Ring;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * From when on no mux opens connections at the owner before, by the second of a move: an answer of
 * agents that have none says nothing before that, as a mux that is behind may open one after it.
 *
 * <p>A mux that is present must have applied the move, or have withdrawn the service as too far
 * behind. One that is absent from ZooKeeper hears from the others that it is behind, and withdraws
 * within its {@code behindSeconds}; how far it is, nobody knows. It does so only if at least half
 * of the muxes are ahead (protocol/README.md §9); what it lacks is settled otherwise only once it
 * is back. A controller does not know who was absent before it began to watch, so every move waits
 * for as long.
 *
 * <p>For one service; for one thread at a time.
 */
public final class SettledMoves {
  /**
   * Longer than a mux takes to learn from the others' hellos that it is behind, and routers to
   * follow when it withdraws.
   */
  static final int MARGIN_SECONDS = 10;

  /** No answer counts. */
  static final long NOT_YET = Long.MAX_VALUE;

  /** So that a mux which is behind for days costs no memory. */
  private static final int COMMITS_MAX = 1024;

  private static final class Commit {
    private final long generation;
    private final long committed;
    private long settled = NOT_YET;

    private Commit(long generation, long committed) {
      this.generation = generation;
      this.committed = committed;
    }
  }

  /** Ascending, settled ones first. What comes before counts as the first, which is later. */
  private final List<Commit> commits = new ArrayList<>();

  /** By mux that has withdrawn the service as too far behind, since when this is known. */
  private final Map<String, Long> withdrawn = new HashMap<>();

  /** Takes note of what is committed, and of where muxes are. */
  public void see(ServiceImage image, MuxPresence muxes, long now) {
    Ring ring = image.ring();
    if (commits.isEmpty() || commits.get(commits.size() - 1).generation < ring.generation()) {
      commits.add(new Commit(ring.generation(), ring.committed()));
    }
    String service = image.config().name();
    noteWithdrawn(service, muxes, now);
    for (int i = commits.size() - 1; i >= 0 && commits.get(i).settled == NOT_YET; i--) {
      if (isSettled(commits.get(i), service, muxes, now)) {
        commits.get(i).settled = now;
      }
    }
    if (commits.size() > COMMITS_MAX) {
      commits.remove(0);
    }
  }

  private void noteWithdrawn(String service, MuxPresence muxes, long now) {
    Map<String, Long> before = Map.copyOf(withdrawn);
    withdrawn.clear();
    for (MuxPresence.Present each : muxes.present()) {
      if (of(each.mux(), service).filter(at -> !at.isServed()).isPresent()) {
        withdrawn.put(each.mux().id(), before.getOrDefault(each.mux().id(), now));
      }
    }
  }

  /** What a mux says of the service, if it has a ring of it. */
  private static Optional<MuxService> of(MuxView mux, String service) {
    return Optional.ofNullable(mux.services().get(service)).filter(at -> at.generation() > 0);
  }

  private boolean isSettled(Commit commit, String service, MuxPresence muxes, long now) {
    int behind = 0;
    int serving = 0;
    int others = 0;
    for (MuxPresence.Present each : muxes.present()) {
      behind = Math.max(behind, each.behindSeconds());
      Optional<MuxService> at = of(each.mux(), service);
      Long since = withdrawn.get(each.mux().id());
      boolean has = at.isEmpty() || at.get().generation() >= commit.generation;
      if (!has && (since == null || now < Math.max(since, commit.committed) + MARGIN_SECONDS)) {
        return false;
      }
      serving += at.isPresent() && since == null ? 1 : 0;
      others += since == null ? 0 : 1;
    }
    List<MuxPresence.Absent> lacking = new ArrayList<>();
    for (MuxPresence.Absent each : muxes.absent()) {
      Optional<MuxService> at = of(each.mux(), service).filter(MuxService::isAnnounced);
      others += at.isPresent() ? 1 : 0;
      if (at.isPresent() && at.get().generation() < commit.generation) {
        lacking.add(each);
      }
    }
    for (MuxPresence.Absent each : lacking) {
      boolean withdraws = each.behindSeconds() > 0 && serving >= others;
      if (!withdraws || now < quiet(each.gone(), commit, each.behindSeconds())) {
        return false;
      }
    }
    int usual = behind > 0 ? behind : MuxPresence.BEHIND_SECONDS_DEFAULT;
    return now >= quiet(muxes.watchedSince(), commit, usual);
  }

  /** When a mux has withdrawn that has had no session since {@code gone}, and lacks the commit. */
  private static long quiet(long gone, Commit commit, int behindSeconds) {
    long behind = Math.max(gone, commit.committed);
    return behind >= NOT_YET - behindSeconds - MARGIN_SECONDS
        ? NOT_YET
        : behind + behindSeconds + MARGIN_SECONDS;
  }

  /**
   * From which second on an answer about a bucket counts that moved at {@code since}; {@link
   * #NOT_YET}: none does so far.
   */
  public long settled(long since) {
    for (int i = first(since); i < commits.size(); i++) {
      Commit commit = commits.get(i);
      // Two commits may be of one second, and one of them may not have been seen.
      boolean hasAll =
          i + 1 == commits.size()
              || commit.committed > since
              || (commits.get(i + 1).committed > since
                  && commits.get(i + 1).generation == commit.generation + 1);
      if (hasAll) {
        return commit.settled;
      }
    }
    return NOT_YET;
  }

  /** The first commit of this second or later. */
  private int first(long since) {
    int from = 0;
    int to = commits.size();
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (commits.get(middle).committed < since) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }
}
