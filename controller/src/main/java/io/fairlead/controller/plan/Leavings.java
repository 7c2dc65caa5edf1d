// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.agents.LiveConnections.Count;
import io.fairlead.controller.resources.plane.Leaving;
import io.fairlead.controller.resources.plane.Leaving.Fate;
import io.fairlead.controller.resources.plane.Result;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * How many live connections a plan takes from backends, and what becomes of them. An agent counts
 * connections of a backend, not of its buckets; so the number is exact only if all buckets move
 * whose packets reach the backend, and otherwise the share of these.
 */
final class Leavings {
  /** More would make an answer too long to be kept for a repeated request. */
  static final int LISTED = 256;

  private final ServiceImage before;
  private final Delta delta;
  private final LiveConnections live;
  private final int[] leaving;

  /** Buckets whose packets reach the backend, as the owner or as one before it. */
  private final int[] reaching;

  private Leavings(ServiceImage before, Delta delta, LiveConnections live) {
    this.before = before;
    this.delta = delta;
    this.live = live;
    leaving = new int[before.ring().ids()];
    reaching = new int[before.ring().ids()];
  }

  /**
   * Adds those of the first {@link #LISTED} backends that lose buckets, by ascending id, and how
   * many the window ends of all.
   */
  static Result.Moved with(
      Result.Moved moved, ServiceImage before, Delta delta, LiveConnections live) {
    Leavings all = new Leavings(before, delta, live);
    List<Leaving> list = all.countLeaving() ? all.list() : List.of();
    return moved.with(
        list.subList(0, Math.min(list.size(), LISTED)),
        before.config().releasesOwners() ? Optional.empty() : endedByWindow(list));
  }

  private static Optional<Result.Ended> endedByWindow(List<Leaving> list) {
    List<Leaving> chained = list.stream().filter(each -> each.fate() == Fate.CHAINED).toList();
    return chained.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new Result.Ended(
                chained.stream().mapToLong(each -> each.connections().orElse(0L)).sum(),
                (int) chained.stream().filter(each -> each.connections().isEmpty()).count()));
  }

  private boolean countLeaving() {
    Ring ring = before.ring();
    Runs runs = delta.moves();
    boolean isAny = false;
    for (int run = 0; run < runs.size(); run++) {
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        int from = ring.current(bucket);
        if (from != runs.owner(run) && from != Backend.NONE) {
          leaving[from]++;
          isAny = true;
        }
      }
    }
    return isAny;
  }

  private void countReaching() {
    Ring ring = before.ring();
    int chained = before.config().chainedSeconds();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      reaching[ring.current(bucket)]++;
      History history = ring.history(bucket);
      int open = history.open(delta.committed(), chained);
      for (int i = 0; i < open; i++) {
        reaching[history.owner(i)]++;
      }
    }
  }

  private List<Leaving> list() {
    countReaching();
    Set<Integer> dead =
        delta.backends().stream()
            .filter(Backend::dead)
            .map(Backend::id)
            .collect(Collectors.toUnmodifiableSet());
    List<Leaving> list = new ArrayList<>();
    for (int id = 1; id < leaving.length; id++) {
      if (leaving[id] > 0) {
        list.add(leaving(id, dead.contains(id)));
      }
    }
    return list;
  }

  private Leaving leaving(int id, boolean isDead) {
    ServiceConfig config = before.config();
    Fate fate = config.holdSeconds() > 0 ? Fate.HELD : Fate.CHAINED;
    Optional<Count> count = live.connections(config.name(), id);
    // Subflows that a port steers have no bucket.
    boolean isAll = leaving[id] == reaching[id] && config.mptcpPorts().isEmpty();
    return new Leaving(
        id,
        leaving[id],
        count.map(
            each ->
                Math.round(
                    (each.established() + each.halfOpen())
                        * ((double) leaving[id] / reaching[id]))),
        count.isPresent() && !isAll,
        count.isPresent() ? Optional.empty() : Optional.of(live.unknown(config.name(), id)),
        isDead ? Fate.BROKEN : fate,
        delta.committed() + (isDead ? 0 : config.heldSeconds()));
  }
}
