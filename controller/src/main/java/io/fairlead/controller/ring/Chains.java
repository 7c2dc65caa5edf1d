// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import java.util.Set;

/**
 * Which former owners of a bucket its packets still reach (protocol/README.md §3), before and after
 * a move. A bucket's history names up to {@link History#MAX} of them, but packets of version 1 name
 * the newest alone: each owner remembers the one that it had the bucket from, and a packet is
 * chained three times at most.
 *
 * <pre>
 *   moves        A to B, to C, to D, now to E          A to B, to C, now back to B
 *   line         D C B A                               C B A
 *   chain        E D C B: connections of A break       B C B ...: connections of A break
 * </pre>
 *
 * <p>It is assumed that an owner learns of its bucket's move, by a packet or a notice, and that no
 * owner was lost before: one that was may count as lost again. Dead backends pass nothing on, and
 * their own connections are not counted. For one thread.
 */
public final class Chains {
  /** How often a packet is chained at most. */
  public static final int HOPS = 3;

  private final Ring ring;
  private final Set<Integer> dead;
  private final long now;
  private final int windowSeconds;

  /** The bucket's owner, if it has one, and the owners before it that an open window names. */
  private final int[] line = new int[1 + History.MAX];

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

  /** Seconds until the window of the earliest of the bucket's moves is over that are followed. */
  public long secondsLeft(int bucket) {
    History history = ring.history(bucket);
    int followed = Math.min(HOPS, history.open(now, windowSeconds));
    return followed == 0 ? 0 : history.since(followed - 1) + windowSeconds - now;
  }

  /**
   * Whether connections of an owner that the bucket's packets reach now are no longer found once
   * {@code next} owns it.
   */
  public boolean loses(int bucket, int next) {
    if (!ring.isMoved(bucket, now, windowSeconds)) {
      return false;
    }
    read(bucket);
    // While a bucket has no owner, the next one will be one hop further away.
    boolean isOwned = ring.current(bucket) != Backend.NONE;
    int reached = walk(before, line[0], isOwned ? HOPS : HOPS - 1, Backend.NONE);
    int left =
        next == Backend.NONE
            ? walk(after, line[0], HOPS - 1, Backend.NONE)
            : walk(after, next, HOPS, next);
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
    History history = ring.history(bucket);
    int open = history.open(now, windowSeconds);
    for (int i = 0; i < open; i++) {
      line[length++] = history.owner(i);
    }
  }

  /** Those whom a packet reaches from {@code start} on, once {@code taker} has got the bucket. */
  private int walk(int[] reached, int start, int hops, int taker) {
    int size = 0;
    int at = start;
    while (at != Backend.NONE && !dead.contains(at) && size <= hops) {
      reached[size++] = at;
      at = at == taker ? newest(taker) : remembered(at);
    }
    return size;
  }

  /** The newest former owner once {@code next} has got the bucket: the dead are not named. */
  private int newest(int next) {
    for (int i = 0; i < length; i++) {
      if (line[i] != next && !dead.contains(line[i])) {
        return line[i];
      }
    }
    return Backend.NONE;
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
