// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.muxes.MuxService;
import io.fairlead.controller.muxes.MuxView;
import io.fairlead.controller.ring.Ring;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * When all muxes had applied what was committed until some second. Until then a mux that is behind
 * opens connections at a bucket's former owner.
 */
final class AppliedCommits {
  private static final long NOT_YET = -1;

  private static final class Commit {
    private final long generation;
    private final long committed;
    private long applied = NOT_YET;

    private Commit(long generation, long committed) {
      this.generation = generation;
      this.committed = committed;
    }
  }

  private final Deque<Commit> commits = new ArrayDeque<>();

  /** The generations of the muxes that serve the service, by mux. */
  static Map<String, Long> serving(Collection<MuxView> muxes, String service) {
    Map<String, Long> serving = new TreeMap<>();
    for (MuxView mux : muxes) {
      MuxService applied = mux.services().get(service);
      if (applied != null && applied.isServed()) {
        serving.put(mux.id(), applied.generation());
      }
    }
    return serving;
  }

  /**
   * Takes note of what is committed and applied now.
   *
   * @param serving by mux, the generation that it has
   * @param now Unix seconds
   */
  void see(ServiceImage image, Map<String, Long> serving, long now) {
    OptionalLong least = serving.values().stream().mapToLong(applied -> applied).min();
    Ring ring = image.ring();
    see(ring.generation(), ring.committed(), least, now, image.config().windowSeconds());
  }

  /** The same in numbers; {@code least} is the lowest generation that a mux serves. */
  void see(long generation, long committed, OptionalLong least, long now, int windowSeconds) {
    if (commits.isEmpty() || commits.getLast().generation < generation) {
      commits.add(new Commit(generation, committed));
    }
    for (Commit commit : commits) {
      boolean isApplied = least.isEmpty() || least.getAsLong() >= commit.generation;
      commit.applied = commit.applied == NOT_YET && isApplied ? now : commit.applied;
    }
    while (commits.size() > 1 && commits.getFirst().committed + windowSeconds <= now) {
      commits.removeFirst();
    }
  }

  /** When all muxes had applied what was committed until then; empty: one has not, so far. */
  OptionalLong applied(long committed) {
    for (Commit commit : commits) {
      if (commit.committed >= committed) {
        return commit.applied == NOT_YET ? OptionalLong.empty() : OptionalLong.of(commit.applied);
      }
    }
    return OptionalLong.empty();
  }
}
