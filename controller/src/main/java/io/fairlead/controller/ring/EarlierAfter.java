// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import java.util.HashSet;
import java.util.Set;

/**
 * The earlier moves of a ring after a delta. A moved bucket's line of owners (its owner, the
 * previous one, and those of the earlier moves) loses what comes before the delta's {@code
 * previous} and that one itself, which the ring's row has; the next two are kept, as far as their
 * windows are open. To commit a move anew renews them too: servers follow what they remember as
 * long as the last move is open. What a reused id stands for ends there if its address is another:
 * it is another machine. So does what a dead backend passed on. A removed backend that comes back
 * with its address is the same server.
 */
final class EarlierAfter {
  private final Ring base;
  private final Delta delta;
  private final int windowSeconds;

  /** Ids that stand for another machine now, or for one that is gone. */
  private final Set<Integer> ended = new HashSet<>();

  private final EarlierMoves.Builder after = new EarlierMoves.Builder();

  /** The next of the base's entries. */
  private int entry;

  EarlierAfter(Ring base, Delta delta, int windowSeconds) {
    this.base = base;
    this.delta = delta;
    this.windowSeconds = windowSeconds;
    for (Backend backend : delta.backends()) {
      Backend before = base.backends().get(backend.id());
      boolean isReused =
          !backend.removed()
              && before != null
              && (before.isDead() || !before.address().equals(backend.address()));
      if (isReused || backend.isDead()) {
        ended.add(backend.id());
      }
    }
  }

  EarlierMoves moves() {
    if (windowSeconds == 0) {
      return EarlierMoves.NONE;
    }
    Runs runs = delta.runs();
    for (int run = 0; run < runs.size(); run++) {
      keepBefore(runs.start(run));
      for (int bucket = runs.start(run); bucket < runs.start(run) + runs.count(run); bucket++) {
        move(bucket, runs.current(run), runs.previous(run));
      }
    }
    keepBefore(base.buckets());
    return after.build();
  }

  /** The entries of buckets that do not move. */
  private void keepBefore(int end) {
    EarlierMoves moves = base.earlier();
    for (; entry < moves.size && moves.buckets[entry] < end; entry++) {
      int at = entry * EarlierMoves.DEPTH;
      add(
          moves.buckets[entry],
          moves.owners[at],
          moves.sinces[at],
          moves.owners[at + 1],
          moves.sinces[at + 1]);
    }
  }

  private void move(int bucket, int current, int previous) {
    EarlierMoves moves = base.earlier();
    int first = Backend.NONE;
    int firstSince = 0;
    int second = Backend.NONE;
    int secondSince = 0;
    if (entry < moves.size && moves.buckets[entry] == bucket) {
      int at = entry++ * EarlierMoves.DEPTH;
      first = moves.owners[at];
      firstSince = moves.sinces[at];
      second = moves.owners[at + 1];
      secondSince = moves.sinces[at + 1];
    }
    if (previous == Backend.NONE) {
      return;
    }
    if (previous == base.current(bucket)) {
      add(bucket, base.previous(bucket), base.since[bucket], first, firstSince);
    } else if (previous == base.previous(bucket) && current == base.current(bucket)) {
      int now = (int) delta.committed(); // renewed, and with it all that leads on from there
      add(bucket, first, now, second, now);
    } else if (previous == base.previous(bucket)) {
      add(bucket, first, firstSince, second, secondSince);
    } else if (previous == first) {
      add(bucket, second, secondSince, Backend.NONE, 0);
    }
  }

  private void add(int bucket, int owner, int since, int ownerBefore, int sinceBefore) {
    boolean isKept = isKept(owner, since);
    boolean isKeptBefore = isKept && isKept(ownerBefore, sinceBefore);
    after.add(
        bucket,
        isKept ? owner : Backend.NONE,
        since,
        isKeptBefore ? ownerBefore : Backend.NONE,
        sinceBefore);
  }

  private boolean isKept(int owner, int since) {
    return owner != Backend.NONE
        && !ended.contains(owner)
        && delta.committed() < Integer.toUnsignedLong(since) + windowSeconds;
  }
}
