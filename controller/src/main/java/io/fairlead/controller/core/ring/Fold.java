// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import io.fairlead.controller.core.ring.RefusedException.Reason;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;

/**
 * Owners and histories of all buckets after a delta (protocol/README.md §5), and the ring's sum:
 * histories close, owners are released, buckets move, and the dead leave all histories.
 */
final class Fold {
  final char[] current;
  final History[] histories;
  private final Delta delta;
  private final boolean[] isLive;
  private final boolean[] isDead;
  private final Map<History, History> shared = new HashMap<>();

  /** By owner: the history of a bucket that had none, and leaves this owner by the delta. */
  private final History[] alone;

  private long sum;

  /**
   * @param backends of the base, with those of the delta
   * @throws RefusedException if the delta does not fit the base
   */
  Fold(Ring base, Delta delta, SortedMap<Integer, Backend> backends) throws RefusedException {
    this.delta = delta;
    current = base.current.clone();
    histories = base.histories.clone();
    sum = base.sum();
    int ids = Ring.ids(backends);
    isLive = new boolean[ids];
    isDead = new boolean[ids];
    alone = new History[ids];
    isLive[Backend.NONE] = true;
    for (Backend backend : backends.values()) {
      isLive[backend.id()] = !backend.removed();
      isDead[backend.id()] = backend.dead();
    }
    for (Backend backend : delta.backends()) {
      Backend before = base.backends().get(backend.id());
      sum += RingSum.of(backend) - (before == null ? 0 : RingSum.of(before));
    }
    close();
    release();
    move();
    if (delta.backends().stream().anyMatch(Backend::dead)) {
      bury();
    }
    checkLengths();
  }

  /** Of the ring afterwards. */
  long sum() {
    return sum;
  }

  private void close() {
    if (delta.closedUntil() == 0) {
      return;
    }
    for (int bucket = 0; bucket < current.length; bucket++) {
      if (histories[bucket] != History.NONE) {
        set(bucket, current[bucket], shared(bucket, histories[bucket].after(delta.closedUntil())));
      }
    }
  }

  private void release() throws RefusedException {
    Runs runs = delta.releases();
    for (int run = 0; run < runs.size(); run++) {
      checkRange(runs, run);
      int owner = runs.owner(run);
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        History left = owner == Backend.NONE ? History.NONE : histories[bucket].without(owner);
        set(bucket, current[bucket], shared(bucket, left));
      }
    }
  }

  private void move() throws RefusedException {
    Runs runs = delta.moves();
    for (int run = 0; run < runs.size(); run++) {
      int next = runs.owner(run);
      if (next >= isLive.length || !isLive[next]) {
        throw new RefusedException(
            Reason.RUN, "current backend %d is removed or unknown".formatted(next));
      }
      checkRange(runs, run);
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        int before = current[bucket];
        if (before != next) {
          History after = histories[bucket].without(next);
          boolean isKept = before != Backend.NONE && !isDead[before];
          set(bucket, next, isKept ? with(after, before) : shared(bucket, after));
        }
      }
    }
  }

  /** The dead leave all histories, and own nothing. */
  private void bury() throws RefusedException {
    for (int bucket = 0; bucket < current.length; bucket++) {
      if (isDead[current[bucket]]) {
        throw new RefusedException(
            Reason.RUN,
            "bucket %d is owned by %d, which is dead".formatted(bucket, (int) current[bucket]));
      }
      set(bucket, current[bucket], shared(bucket, histories[bucket].without(isDead)));
    }
  }

  private void checkLengths() throws RefusedException {
    Runs runs = delta.moves();
    for (int run = 0; run < runs.size(); run++) {
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        if (histories[bucket].size() > History.most(false)) {
          throw new RefusedException(
              Reason.RUN,
              "bucket %d has %d former owners; allowed: 0..%d"
                  .formatted(bucket, histories[bucket].size(), History.most(false)));
        }
      }
    }
  }

  private void checkRange(Runs runs, int run) throws RefusedException {
    if (runs.start(run) < 0 || runs.end(run) <= runs.start(run) || runs.end(run) > current.length) {
      throw new RefusedException(
          Reason.RUN, "buckets %d..%d".formatted(runs.start(run), runs.end(run)));
    }
  }

  private void set(int bucket, int owner, History history) {
    if (owner == current[bucket] && history == histories[bucket]) {
      return;
    }
    sum -= RingSum.of(bucket, current[bucket], histories[bucket]);
    sum += RingSum.of(bucket, owner, history);
    current[bucket] = (char) owner;
    histories[bucket] = history;
  }

  private History with(History history, int owner) {
    if (history.size() > 0) {
      return shared(history.with(owner, delta.committed()));
    }
    if (alone[owner] == null) {
      alone[owner] = shared(History.NONE.with(owner, delta.committed()));
    }
    return alone[owner];
  }

  private History shared(int bucket, History history) {
    return history == histories[bucket] ? history : shared(history);
  }

  private History shared(History history) {
    return history.size() == 0 ? History.NONE : shared.computeIfAbsent(history, same -> same);
  }
}
