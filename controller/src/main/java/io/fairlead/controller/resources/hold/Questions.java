// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.muxes.SettledMoves.Wait;
import java.time.Duration;
import java.time.Instant;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;

/**
 * What former owners are asked about one service's buckets, and what they answered. One that has an
 * agent is asked about all buckets that name it, once no mux has opened connections at it by a ring
 * from before for {@link #waitSeconds} ({@link SettledMoves}). An answer counts for a bucket only
 * if the question was asked later than that. So it is void once the owner has had the bucket again.
 *
 * <p>A question is a set of bits, one for each bucket up to the last. Where all of them together
 * would take more than {@link #BYTES_MAX}, owners take turns.
 *
 * <p>For one thread.
 */
public final class Questions {
  /** A server takes what acknowledges a SYN cookie for so long after its SYN. */
  private static final int COOKIE_SECONDS = 130;

  private static final String COOKIES = "a SYN cookie may still come back";

  private static final String DATAGRAMS =
      "no agent counts datagrams, and those under way have the window";

  /** For packets under way from muxes, and handshakes that they began. */
  private static final int WAIT_MIN_SECONDS = 10;

  static final long BYTES_MAX = 32L << 20;

  /** Longer than an agent takes to hear of a question and to answer. */
  static final Duration TURN = Duration.ofSeconds(15);

  /**
   * @param at when it was first asked
   */
  private record Asked(String name, BitSet buckets, Instant at) {}

  private final LiveConnections live;
  private final LongUnaryOperator settled;
  private final long bytesMax;
  private final SortedMap<Integer, Asked> asked = new TreeMap<>();

  /** The first owner that did not fit into the latest turn. */
  private int nextTurn;

  /**
   * @param settled by the second of a move, the second from which on no mux opens connections by
   *     the ring before; {@link Long#MAX_VALUE}: unknown
   */
  public Questions(LiveConnections live, LongUnaryOperator settled) {
    this(live, settled, BYTES_MAX);
  }

  Questions(LiveConnections live, LongUnaryOperator settled, long bytesMax) {
    this.live = live;
    this.settled = settled;
    this.bytesMax = bytesMax;
  }

  /**
   * How long after the last mux could open connections at a backend its agent is not believed: some
   * may follow that it does not see yet. No agent counts datagrams; they have the window.
   */
  public static int waitSeconds(ServiceConfig config) {
    int window = config.windowSeconds();
    int wait = Math.max(WAIT_MIN_SECONDS, Math.min(COOKIE_SECONDS, window));
    return config.chainsDatagrams() ? Math.max(wait, window) : wait;
  }

  /**
   * What answers wait for until they count.
   *
   * @param moves what the move or generation waits for until it is settled
   * @param settledFor for how many seconds it has been; empty: it is not
   */
  public static List<Wait> waits(ServiceConfig config, List<Wait> moves, OptionalLong settledFor) {
    long left = waitSeconds(config) - settledFor.orElse(0);
    if (!moves.isEmpty() || left <= 0) {
      return moves;
    }
    String why = config.chainsDatagrams() ? DATAGRAMS : COOKIES;
    return List.of(new Wait(Optional.empty(), why, OptionalLong.of(left)));
  }

  /** As {@link #waits}, of answers about buckets that were lost at {@code since}, Unix seconds. */
  static List<Wait> waits(ServiceConfig config, SettledMoves settled, long since) {
    return waits(config, settled.waits(since), settled.settledFor(since));
  }

  /** Whether a question is open. */
  public boolean isAsking() {
    return !asked.isEmpty();
  }

  /** Asks about the former owners in {@code image}, in place of what was asked before. */
  public void ask(ServiceImage image, Instant now) {
    String service = image.config().name();
    Sets sets = new Sets(image, now);
    boolean[] isChosen = chosen(image, sets, now);
    asked
        .entrySet()
        .removeIf(
            each -> {
              int owner = each.getKey();
              boolean isOver =
                  !isChosen[owner] || each.getValue().at().getEpochSecond() < sets.counts[owner];
              if (isOver) {
                live.ask(service, owner, new BitSet());
              }
              return isOver;
            });
    for (int owner = 1; owner < isChosen.length; owner++) {
      if (isChosen[owner]) {
        ask(service, owner, sets.buckets[owner], now);
      }
    }
  }

  /** The buckets that each owner may be asked about now. */
  private final class Sets {
    private final BitSet[] buckets = new BitSet[Backend.MAX + 1];

    /** From when on a question about all of them counts. */
    private final long[] counts = new long[Backend.MAX + 1];

    Sets(ServiceImage image, Instant now) {
      if (image.config().holdSeconds() > 0) {
        Ring ring = image.ring();
        Moments moments = new Moments(image.config());
        for (int bucket = 0; bucket < ring.buckets(); bucket++) {
          History owners = ring.history(bucket);
          for (int i = 0; i < owners.size(); i++) {
            add(bucket, owners.owner(i), moments.of(owners.since(i)), now.getEpochSecond());
          }
        }
      }
    }

    private void add(int bucket, int owner, long from, long latest) {
      if (from <= latest) {
        if (buckets[owner] == null) {
          buckets[owner] = new BitSet();
        }
        buckets[owner].set(bucket);
        counts[owner] = Math.max(counts[owner], from);
      }
    }
  }

  /** From when on questions about what was lost at a second count; neighbours often share one. */
  private final class Moments {
    private final int wait;
    private long since = -1;
    private long from;

    Moments(ServiceConfig config) {
      wait = waitSeconds(config);
    }

    long of(long lost) {
      if (lost != since) {
        since = lost;
        long moment = settled.applyAsLong(lost);
        from = moment == Long.MAX_VALUE ? moment : moment + wait;
      }
      return from;
    }
  }

  private void ask(String service, int owner, BitSet set, Instant now) {
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

  /** Those that have an agent, as many as may be asked at once. */
  private boolean[] chosen(ServiceImage image, Sets sets, Instant now) {
    boolean[] isHeard = new boolean[sets.buckets.length];
    int heard = 0;
    for (int owner = 1; owner < isHeard.length; owner++) {
      isHeard[owner] =
          sets.buckets[owner] != null && live.connections(image.config().name(), owner).isPresent();
      heard += isHeard[owner] ? 1 : 0;
    }
    long most = Math.max(1, bytesMax / (image.ring().buckets() / Byte.SIZE));
    return heard <= most ? isHeard : turn(isHeard, most, now);
  }

  private boolean[] turn(boolean[] isHeard, long most, Instant now) {
    boolean[] isChosen = new boolean[isHeard.length];
    long left = most;
    for (Map.Entry<Integer, Asked> each : asked.entrySet()) {
      if (now.isBefore(each.getValue().at().plus(TURN)) && isHeard[each.getKey()]) {
        isChosen[each.getKey()] = true;
        left--;
      }
    }
    int from = nextTurn;
    for (int i = 0; i < isHeard.length; i++) {
      int owner = (from + i) % isHeard.length;
      if (isHeard[owner] && !isChosen[owner]) {
        nextTurn = owner;
        if (left-- <= 0) {
          break;
        }
        isChosen[owner] = true;
      }
    }
    return isChosen;
  }

  /** What has been answered by now. */
  public Answers answers(String service) {
    Answers answers = new Answers();
    asked.forEach(
        (owner, question) ->
            live.occupied(service, owner)
                .filter(occupied -> occupied.question().equals(question.name()))
                .ifPresent(
                    occupied -> {
                      BitSet free = (BitSet) question.buckets().clone();
                      free.andNot(occupied.buckets());
                      answers.add(owner, free, question.at().getEpochSecond());
                    }));
    return answers;
  }

  /** In which buckets owners have no connection. */
  public final class Answers {
    private final BitSet[] free = new BitSet[Backend.MAX + 1];
    private final long[] askedAt = new long[Backend.MAX + 1];

    private void add(int owner, BitSet buckets, long at) {
      free[owner] = buckets;
      askedAt[owner] = at;
    }

    /** Which owners have no connection in a bucket any more. */
    Free free(ServiceConfig config) {
      Moments moments = new Moments(config);
      return (bucket, owners, i) -> {
        int owner = owners.owner(i);
        return free[owner] != null
            && free[owner].get(bucket)
            && askedAt[owner] >= moments.of(owners.since(i));
      };
    }
  }

  /** Whether the {@code i}-th former owner of a bucket has no connection in it any more. */
  interface Free {
    boolean test(int bucket, History owners, int i);
  }
}
