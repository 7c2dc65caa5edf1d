// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import java.util.Arrays;

/**
 * The moves before the last one, of buckets that moved more than once within their window, or while
 * they were held: which owner they left, and when. A ring has only the last move of each bucket,
 * but servers follow three ({@link Chains}), so a plan has to know the two before. Sparse, by
 * ascending bucket, and immutable: 16 bytes for each such bucket.
 */
public final class EarlierMoves {
  /** Servers follow three moves; the ring has the last one. */
  public static final int DEPTH = 2;

  public static final EarlierMoves NONE = new EarlierMoves(0);

  int[] buckets;

  /** For the i-th bucket at 2 * i and 2 * i + 1, the later move first; owner 0: no such move. */
  char[] owners;

  int[] sinces;
  int size;

  private EarlierMoves(int capacity) {
    buckets = new int[capacity];
    owners = new char[capacity * DEPTH];
    sinces = new int[capacity * DEPTH];
  }

  /** The number of buckets that have any. */
  public int size() {
    return size;
  }

  /** The bucket of the entry with that index, below {@link #size}. */
  public int bucketAt(int entry) {
    return buckets[entry];
  }

  /** As {@link #owner}, by the entry's index. */
  public int ownerAt(int entry, int back) {
    return owners[entry * DEPTH + back];
  }

  /**
   * The owner that the bucket left in the move before its last one ({@code back} 0) or in the one
   * before that (1); 0 if that move is not kept.
   */
  public int owner(int bucket, int back) {
    int at = Arrays.binarySearch(buckets, 0, size, bucket);
    return at < 0 ? Backend.NONE : owners[at * DEPTH + back];
  }

  /** Unix seconds of that move. */
  public long since(int bucket, int back) {
    int at = Arrays.binarySearch(buckets, 0, size, bucket);
    return at < 0 ? 0 : Integer.toUnsignedLong(sinces[at * DEPTH + back]);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof EarlierMoves moves
        && size == moves.size
        && Arrays.equals(buckets, 0, size, moves.buckets, 0, size)
        && Arrays.equals(owners, 0, size * DEPTH, moves.owners, 0, size * DEPTH)
        && Arrays.equals(sinces, 0, size * DEPTH, moves.sinces, 0, size * DEPTH);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(Arrays.copyOf(buckets, size));
  }

  @Override
  public String toString() {
    return "earlier moves of %d buckets".formatted(size);
  }

  /** Collects the moves of ascending buckets. */
  static final class Builder {
    private EarlierMoves moves = new EarlierMoves(16);

    /** The later move first; owner 0: there is none. A bucket without any is not kept. */
    Builder add(int bucket, int owner, int since, int ownerBefore, int sinceBefore) {
      if (owner == Backend.NONE) {
        return this;
      }
      int at = moves.size++;
      if (at == moves.buckets.length) {
        int capacity = at + (at >> 1);
        moves.buckets = Arrays.copyOf(moves.buckets, capacity);
        moves.owners = Arrays.copyOf(moves.owners, capacity * DEPTH);
        moves.sinces = Arrays.copyOf(moves.sinces, capacity * DEPTH);
      }
      moves.buckets[at] = bucket;
      moves.owners[at * DEPTH] = (char) owner;
      moves.sinces[at * DEPTH] = since;
      moves.owners[at * DEPTH + 1] = (char) ownerBefore;
      moves.sinces[at * DEPTH + 1] = ownerBefore == Backend.NONE ? 0 : sinceBefore;
      return this;
    }

    /** The moves; the builder must not be used again. */
    EarlierMoves build() {
      return moves.size == 0 ? NONE : moves;
    }
  }
}
