// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import io.fairlead.controller.agents.LiveConnections;
import io.fairlead.controller.image.ServiceImage;
import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.History;
import io.fairlead.controller.ring.Ring;
import java.util.BitSet;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;

/**
 * What the owners before are asked about one service's held buckets, and what they answered. An
 * owner is asked about all held buckets whose packets are chained to it, if it has an agent. Only
 * buckets whose window is over, and where no mux opens connections at an owner before any more
 * ({@link SettledMoves}), are in a question. An answer counts for a bucket only if the question was
 * asked later than that.
 *
 * <p>A question is a set of bits, one for each bucket up to the last. Where all of them together
 * would take more than {@link #BYTES_MAX}, owners take turns.
 *
 * <p>For one thread.
 */
public final class Questions {
  static final long BYTES_MAX = 32L << 20;

  /** Longer than an agent takes to hear of a question and to answer. */
  static final int TURN_SECONDS = 15;

  /**
   * @param at Unix seconds at which it was first asked
   */
  private record Asked(String name, BitSet buckets, long at) {}

  private final LiveConnections live;
  private final LongUnaryOperator settled;
  private final long bytesMax;
  private final SortedMap<Integer, Asked> asked = new TreeMap<>();

  /** The bucket whose owners did not fit into the latest turn. */
  private int nextTurn;

  /**
   * @param settled by the second of a move, the second from which on answers count as far as muxes
   *     go, or one in the future: none does
   */
  public Questions(LiveConnections live, LongUnaryOperator settled) {
    this(live, settled, BYTES_MAX);
  }

  Questions(LiveConnections live, LongUnaryOperator settled, long bytesMax) {
    this.live = live;
    this.settled = settled;
    this.bytesMax = bytesMax;
  }

  /** Whether a question is open. */
  public boolean isAsking() {
    return !asked.isEmpty();
  }

  /** Asks about what is held in {@code image}, in place of what was asked before. */
  public void ask(ServiceImage image, long now) {
    String service = image.config().name();
    BitSet[] sets = sets(image, chosen(image, now), now);
    long[] closed = new long[sets.length];
    int window = image.config().windowSeconds();
    Ring ring = image.ring();
    for (int owner = 1; owner < sets.length; owner++) {
      BitSet set = sets[owner];
      for (int b = set == null ? -1 : set.nextSetBit(0); b >= 0; b = set.nextSetBit(b + 1)) {
        closed[owner] = Math.max(closed[owner], closed(ring.since(b), window));
      }
    }
    asked
        .entrySet()
        .removeIf(
            each -> {
              BitSet set = sets[each.getKey()];
              boolean isOver = set == null || each.getValue().at() < closed[each.getKey()];
              if (isOver) {
                live.ask(service, each.getKey(), new BitSet());
              }
              return isOver;
            });
    for (int owner = 1; owner < sets.length; owner++) {
      if (sets[owner] != null) {
        ask(service, owner, sets[owner], now);
      }
    }
  }

  private long closed(long since, int window) {
    return Math.max(since + window, settled.applyAsLong(since));
  }

  /** Visits the held buckets that may be asked about. */
  private void visit(ServiceImage image, long now, HeldBuckets.Visitor visitor) {
    HeldBuckets.visit(
        image,
        now,
        (bucket, owners) ->
            settled.applyAsLong(image.ring().since(bucket)) > now || visitor.visit(bucket, owners));
  }

  private void ask(String service, int owner, BitSet set, long now) {
    Asked before = asked.get(owner);
    live.ask(service, owner, set)
        .ifPresentOrElse(
            name -> {
              if (before == null || !before.name().equals(name)) {
                asked.put(owner, new Asked(name, set, now));
              }
            },
            () -> asked.remove(owner));
  }

  /** Owners of held buckets that have an agent, as many as may be asked at once. */
  private boolean[] chosen(ServiceImage image, long now) {
    boolean[] isHeard = heard(image, now);
    int heard = 0;
    for (boolean is : isHeard) {
      heard += is ? 1 : 0;
    }
    long most = Math.max(History.MAX, bytesMax / (image.ring().buckets() / Byte.SIZE));
    if (heard <= most) {
      return isHeard;
    }
    boolean[] isChosen = new boolean[isHeard.length];
    Turn turn = new Turn(isHeard, isChosen, most);
    asked.forEach(
        (owner, question) -> {
          if (now < question.at() + TURN_SECONDS) {
            turn.add(owner);
          }
        });
    int from = nextTurn;
    nextTurn = 0;
    for (int pass = 0; pass < 2 && nextTurn == 0; pass++) {
      boolean isFirst = pass == 0;
      visit(
          image,
          now,
          (bucket, owners) -> {
            if (bucket >= from == isFirst && !turn.add(owners)) {
              nextTurn = bucket;
              return false;
            }
            return true;
          });
    }
    return isChosen;
  }

  private boolean[] heard(ServiceImage image, long now) {
    boolean[] isNamed = new boolean[Backend.MAX + 1];
    visit(
        image,
        now,
        (bucket, owners) -> {
          for (int i = 0; i < owners.size(); i++) {
            isNamed[owners.owner(i)] = true;
          }
          return true;
        });
    String service = image.config().name();
    for (int owner = 1; owner < isNamed.length; owner++) {
      isNamed[owner] &= live.connections(service, owner).isPresent();
    }
    return isNamed;
  }

  /** Chooses all owners of a bucket together: it is released by the answers of all. */
  private static final class Turn {
    private final boolean[] isHeard;
    private final boolean[] isChosen;
    private long left;

    Turn(boolean[] isHeard, boolean[] isChosen, long most) {
      this.isHeard = isHeard;
      this.isChosen = isChosen;
      this.left = most;
    }

    void add(int owner) {
      if (isHeard[owner] && !isChosen[owner]) {
        isChosen[owner] = true;
        left--;
      }
    }

    /** Whether there was room for them. */
    boolean add(History owners) {
      int more = 0;
      for (int i = 0; i < owners.size(); i++) {
        more += isHeard[owners.owner(i)] && !isChosen[owners.owner(i)] ? 1 : 0;
      }
      if (more > left) {
        return false;
      }
      for (int i = 0; i < owners.size(); i++) {
        add(owners.owner(i));
      }
      return true;
    }
  }

  private BitSet[] sets(ServiceImage image, boolean[] isChosen, long now) {
    BitSet[] sets = new BitSet[isChosen.length];
    visit(
        image,
        now,
        (bucket, owners) -> {
          for (int i = 0; i < owners.size(); i++) {
            int owner = owners.owner(i);
            if (isChosen[owner]) {
              if (sets[owner] == null) {
                sets[owner] = new BitSet();
              }
              sets[owner].set(bucket);
            }
          }
          return true;
        });
    return sets;
  }

  /** What has been answered by now. */
  public Answers answers(String service) {
    Answers answers = new Answers(this);
    asked.forEach(
        (owner, question) ->
            live.occupied(service, owner)
                .filter(occupied -> occupied.question().equals(question.name()))
                .ifPresent(
                    occupied -> {
                      BitSet free = (BitSet) question.buckets().clone();
                      free.andNot(occupied.buckets());
                      answers.add(owner, free, question.at());
                    }));
    return answers;
  }

  /** In which buckets owners have no connection. */
  public static final class Answers {
    private final BitSet[] free = new BitSet[Backend.MAX + 1];
    private final long[] askedAt = new long[Backend.MAX + 1];
    private final Questions questions;
    private boolean isNone = true;

    private Answers(Questions questions) {
      this.questions = questions;
    }

    private void add(int owner, BitSet buckets, long at) {
      free[owner] = buckets;
      askedAt[owner] = at;
      isNone &= buckets.isEmpty();
    }

    /** Whether no bucket is known to have no connection. */
    boolean isNone() {
      return isNone;
    }

    /** From when on a question about a bucket counts that moved at {@code since}. */
    long closed(long since, int window) {
      return questions.closed(since, window);
    }

    /**
     * Whether the owner has no connection in the bucket, to a question asked at {@code closed} or
     * later.
     */
    boolean isFree(int owner, int bucket, long closed) {
      return free[owner] != null && askedAt[owner] >= closed && free[owner].get(bucket);
    }
  }
}
