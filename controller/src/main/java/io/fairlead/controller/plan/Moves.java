// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.resources.plane.Move;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.Share;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/** What the runs of a plan do to buckets and shares, in the words of its result. */
final class Moves {
  /** A large change has millions, too many for an answer. */
  private static final int LISTED = 4096;

  private final Ring ring;
  private final FormerOwners formers;
  private final List<Move> moves = new ArrayList<>();
  private int start;
  private int count;
  private int from;
  private int to;
  private int moved;
  private int stillChained;
  private int unchained;

  private Moves(ServiceImage before, FormerOwners formers) {
    this.ring = before.ring();
    this.formers = formers;
  }

  static Result.Moved of(ServiceImage before, Runs runs, Losses losses) {
    Moves all = new Moves(before, losses.formers());
    all.countUnchained(losses.dead());
    for (int run = 0; run < runs.size(); run++) {
      for (int bucket = runs.start(run); bucket < runs.end(run); bucket++) {
        all.move(bucket, runs.owner(run));
      }
    }
    all.list();
    return new Result.Moved(
        all.moved,
        all.stillChained,
        new Result.Owners(losses.count(runs), losses.waiting(), all.unchained),
        all.moves,
        before.config().hasTwoBuckets() && all.moved > 0
            ? Optional.of(all.eitherShare())
            : Optional.empty(),
        List.of(),
        Optional.empty());
  }

  private double eitherShare() {
    double stay = 1 - (double) moved / ring.buckets();
    return 1 - stay * stay;
  }

  /** Buckets of which packets are chained to one of the dead until now. */
  private void countUnchained(Set<Integer> dead) {
    for (int bucket = 0; !dead.isEmpty() && bucket < ring.buckets(); bucket++) {
      History history = ring.history(bucket);
      unchained +=
          IntStream.range(0, history.open(formers.now(), formers.windowSeconds()))
                  .anyMatch(i -> dead.contains(history.owner(i)))
              ? 1
              : 0;
    }
  }

  private void move(int bucket, int to) {
    int from = ring.current(bucket);
    moved++;
    stillChained += ring.isMoved(bucket, formers.now(), formers.windowSeconds()) ? 1 : 0;
    if (count > 0 && start + count == bucket && this.from == from && this.to == to) {
      count++;
      return;
    }
    list();
    start = bucket;
    count = 1;
    this.from = from;
    this.to = to;
  }

  /** The move that has been joined so far. */
  private void list() {
    if (count > 0 && moves.size() < LISTED) {
      moves.add(new Move(start, count, from, to));
    }
  }

  /** The shares of all backends whose weight or number of buckets changes, by ascending id. */
  static List<Share> shares(ServiceImage before, ServiceImage after) {
    int all = Math.max(before.ring().ids(), after.ring().ids());
    int[] ownedBefore = before.ring().owned(all);
    int[] ownedAfter = after.ring().owned(all);
    int[] weightsBefore = ServiceImage.weights(before.pool(), all);
    int[] weightsAfter = ServiceImage.weights(after.pool(), all);
    BitSet was = ids(before);
    BitSet is = ids(after);
    BitSet ids = ids(before);
    ids.or(is);
    List<Share> shares = new ArrayList<>();
    for (int id = ids.nextSetBit(0); id >= 0; id = ids.nextSetBit(id + 1)) {
      boolean isSame =
          ownedBefore[id] == ownedAfter[id]
              && weightsBefore[id] == weightsAfter[id]
              && was.get(id) == is.get(id);
      if (!isSame) {
        shares.add(new Share(id, weightsAfter[id], ownedBefore[id], ownedAfter[id]));
      }
    }
    return shares;
  }

  private static BitSet ids(ServiceImage image) {
    BitSet ids = new BitSet();
    image.pool().keySet().forEach(ids::set);
    return ids;
  }
}
