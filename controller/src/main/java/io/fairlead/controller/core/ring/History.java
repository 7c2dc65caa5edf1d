// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.Arrays;
import java.util.function.IntPredicate;

/**
 * The former owners of a bucket that may still have connections, newest first, and when each of
 * them left it. Immutable, so that buckets share those that are equal.
 */
public final class History {
  /** What a ring names of one bucket, and a packet of all. */
  private static final int MAX = 6;

  /** Of a bucket without former owners. */
  public static final History NONE = new History(new char[0], new int[0]);

  private final char[] owners;
  private final int[] sinces;
  private final int hash;

  /** Unix seconds at which the newest one left the bucket; long ago without any. */
  private final long newest;

  /** The earliest and the latest second at which one left the bucket. */
  private final long earliest;

  private final long latest;

  private History(char[] owners, int[] sinces) {
    this.owners = owners;
    this.sinces = sinces;
    this.hash = Arrays.hashCode(owners) * 31 + Arrays.hashCode(sinces);
    this.newest = owners.length == 0 ? Integer.MIN_VALUE : since(0);
    long first = Long.MAX_VALUE;
    long last = Long.MIN_VALUE;
    for (int i = 0; i < sinces.length; i++) {
      first = Math.min(first, since(i));
      last = Math.max(last, since(i));
    }
    earliest = first;
    latest = last;
  }

  /**
   * How many a bucket may have, so that its packets name all of them.
   *
   * @param two whether packets have two buckets, and name the second one's owner
   */
  public static int most(boolean two) {
    return two ? (MAX - 1) / 2 : MAX;
  }

  /** Takes ownership of the arrays: they must not be written to afterwards. */
  static History of(char[] owners, int[] sinces) {
    return owners.length == 0 ? NONE : new History(owners, sinces);
  }

  public int size() {
    return owners.length;
  }

  /** The owner with that index, 0 for the newest. */
  public int owner(int index) {
    return owners[index];
  }

  /** Unix seconds at which that owner left the bucket. */
  public long since(int index) {
    return Integer.toUnsignedLong(sinces[index]);
  }

  /** -1 if it is not one of them. */
  public int indexOf(int owner) {
    for (int i = 0; i < owners.length; i++) {
      if (owners[i] == owner) {
        return i;
      }
    }
    return -1;
  }

  /** Whether packets still reach any of them. Unlike {@link #open}, reads one place in memory. */
  boolean isOpen(long now, int windowSeconds) {
    return now < newest + windowSeconds;
  }

  /** How many of them, from the newest on, packets still reach at the second {@code now}. */
  public int open(long now, int windowSeconds) {
    if (!isOpen(now, windowSeconds)) {
      return 0;
    }
    int open = 1;
    while (open < owners.length && now < since(open) + windowSeconds) {
      open++;
    }
    return open;
  }

  /** With another one before all others. */
  History with(int owner, long since) {
    char[] more = new char[owners.length + 1];
    int[] moreSinces = new int[owners.length + 1];
    more[0] = (char) owner;
    moreSinces[0] = (int) since;
    System.arraycopy(owners, 0, more, 1, owners.length);
    System.arraycopy(sinces, 0, moreSinces, 1, owners.length);
    return new History(more, moreSinces);
  }

  History without(int owner) {
    return indexOf(owner) < 0 ? this : kept(index -> owners[index] != owner);
  }

  History without(boolean[] gone) {
    return kept(index -> !gone[owners[index]]);
  }

  /** Those that left later than that second: mostly all or none, which one place in memory says. */
  History after(long closed) {
    if (earliest > closed) {
      return this;
    }
    return latest <= closed ? NONE : kept(index -> since(index) > closed);
  }

  private History kept(IntPredicate keeps) {
    int size = 0;
    for (int i = 0; i < owners.length; i++) {
      size += keeps.test(i) ? 1 : 0;
    }
    if (size == owners.length) {
      return this;
    }
    char[] kept = new char[size];
    int[] keptSinces = new int[size];
    for (int i = 0, at = 0; i < owners.length; i++) {
      if (keeps.test(i)) {
        kept[at] = owners[i];
        keptSinces[at++] = sinces[i];
      }
    }
    return of(kept, keptSinces);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof History history
        && hash == history.hash
        && Arrays.equals(owners, history.owners)
        && Arrays.equals(sinces, history.sinces);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("[");
    for (int i = 0; i < owners.length; i++) {
      text.append(" %d@%d".formatted((int) owners[i], since(i)));
    }
    return text.append(" ]").toString();
  }
}
