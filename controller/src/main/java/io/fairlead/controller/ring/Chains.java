// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import java.util.Set;

/**
 * Which former owners of a bucket its packets still reach (protocol/README.md §3), before and after
 * a move: each owner remembers the one that it had the bucket from, and a packet is chained three
 * times at most.
 *
 * <pre>
 *   moves        A to B, to C, to D, now to E          A to B, to C, now back to B
 *   line         D C B A                               C B A
 *   chain        E D C B: connections of A break       B C B ...: connections of A break
 * </pre>
 *
 * <p>It is assumed that an owner learns of its bucket's move, by a packet or a notice. Dead
 * backends pass nothing on, and their own connections are not counted. For one thread.
 */
public final class Chains {
  private static final int HOPS = 3;

  private final Ring ring;
  private final Set<Integer> dead;
  private final long now;
  private final int windowSeconds;

  /** The bucket's owner, if it has one, and the owners before it that an open window names. */
  private final int[] line = new int[2 + EarlierMoves.DEPTH];

  private int length;
  private final int[] before = new int[HOPS + 1];
  private final int[] after = new int[HOPS + 1];

  /**
   * @param dead backends that are gone
   * @param now Unix seconds
   */
  public Chains(Ring ring, Set<Integer> dead, long now, int windowSeconds) {
    this.ring = ring;
    this.dead = dead;
    this.now = now;
    this.windowSeconds = windowSeconds;
  }

  /**
   * The previous owner of the bucket once {@code next} owns it: the latest one that is neither dead
   * nor {@code next} itself and whose window is open; 0 if there is none.
   */
  public int previous(int bucket, int next) {
    read(bucket);
    for (int i = 0; i < length; i++) {
      if (line[i] != next && !dead.contains(line[i])) {
        return line[i];
      }
    }
    return Backend.NONE;
  }

  /** Unix seconds at which the bucket left {@code former}, one of its owners before. */
  public long left(int bucket, int former) {
    if (ring.previous(bucket) == former) {
      return ring.since(bucket);
    }
    for (int back = 0; back < EarlierMoves.DEPTH; back++) {
      if (ring.earlier().owner(bucket, back) == former) {
        return ring.earlier().since(bucket, back);
      }
    }
    return now;
  }

  /** Seconds until the window of the earliest of the bucket's moves is over that is known. */
  public long secondsLeft(int bucket) {
    read(bucket);
    return length == 0 ? 0 : left(bucket, line[length - 1]) + windowSeconds - now;
  }

  /**
   * Whether connections of an owner that the bucket's packets reach now are no longer found once
   * {@code next} owns it and has it from {@code previous}.
   */
  public boolean loses(int bucket, int next, int previous) {
    if (!ring.isMoved(bucket, now, windowSeconds)) {
      return false;
    }
    read(bucket);
    int reached = walk(before, line[0], HOPS, Backend.NONE, Backend.NONE);
    // Without an owner, the next one will be one hop further away.
    int left =
        next == Backend.NONE
            ? walk(after, line[0], HOPS - 1, Backend.NONE, Backend.NONE)
            : walk(after, next, HOPS, next, previous);
    for (int i = 0; i < reached; i++) {
      if (!contains(after, left, before[i])) {
        return true;
      }
    }
    return false;
  }

  private void read(int bucket) {
    length = 0;
    if (ring.current(bucket) != Backend.NONE) {
      line[length++] = ring.current(bucket);
    }
    if (!ring.isMoved(bucket, now, windowSeconds)) {
      return;
    }
    line[length++] = ring.previous(bucket);
    EarlierMoves earlier = ring.earlier();
    for (int back = 0; back < EarlierMoves.DEPTH; back++) {
      int owner = earlier.owner(bucket, back);
      if (owner == Backend.NONE || now >= earlier.since(bucket, back) + windowSeconds) {
        return;
      }
      line[length++] = owner;
    }
  }

  /**
   * Those whom a packet reaches from {@code start} on, of which {@code taker} has a new previous.
   */
  private int walk(int[] reached, int start, int hops, int taker, int takersPrevious) {
    int size = 0;
    int at = start;
    while (at != Backend.NONE && !dead.contains(at) && size <= hops) {
      reached[size++] = at;
      at = at == taker ? takersPrevious : remembered(at);
    }
    return size;
  }

  /** Whom the owner had the bucket from when it last got it. */
  private int remembered(int owner) {
    for (int i = 0; i + 1 < length; i++) {
      if (line[i] == owner) {
        return line[i + 1];
      }
    }
    return Backend.NONE;
  }

  private static boolean contains(int[] owners, int size, int owner) {
    for (int i = 0; i < size; i++) {
      if (owners[i] == owner) {
        return true;
      }
    }
    return false;
  }
}
