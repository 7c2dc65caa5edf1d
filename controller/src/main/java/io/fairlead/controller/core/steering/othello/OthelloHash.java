// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import io.fairlead.controller.core.words.Hash;

/**
 * From a flow hash to its cell of A and its cell of B, as in {@code fairlead/othello.h}
 * (protocol/README.md §12). Cells are numbered over both arrays: those of A from 0, those of B from
 * {@code na}.
 *
 * @param seed 64 bits; odd for siphash, which multiplies by it
 * @param na cells of A; a power of two for crc32
 * @param nb cells of B; a power of two for crc32
 */
public record OthelloHash(Hash hash, long seed, int na, int nb) {
  /** Of either array. */
  public static final int CELLS_MAX = 1 << 28;

  /** Of either array, where the controller chooses the size. */
  private static final int CELLS_MIN = 512;

  public OthelloHash {
    if (!isSeed(hash, seed)) {
      throw new IllegalArgumentException(
          "seed %016x for %s; allowed: odd numbers".formatted(seed, hash));
    }
    if (!isSize(hash, na) || !isSize(hash, nb)) {
      throw new IllegalArgumentException(
          "%d and %d cells for %s; allowed: 1..%d%s"
              .formatted(na, nb, hash, CELLS_MAX, hash == Hash.CRC32 ? ", powers of two" : ""));
    }
  }

  /**
   * For that many keys: keys² ≤ na · nb / 2, so the graph of random keys is acyclic with a
   * probability of at least √½. That takes 2.83 cells a key, with crc32 up to 5.66.
   */
  public static OthelloHash sized(Hash hash, long seed, long keys) {
    long cells = Math.max(CELLS_MIN, (long) Math.ceil(keys * Math.sqrt(2)));
    if (cells > CELLS_MAX) {
      throw new IllegalArgumentException(
          "%d keys; allowed: up to %d".formatted(keys, (long) (CELLS_MAX / Math.sqrt(2))));
    }
    int size = (int) cells;
    if (hash != Hash.CRC32) {
      return new OthelloHash(hash, seed | 1, size, size);
    }
    int power = Math.max(CELLS_MIN, Integer.highestOneBit(size - 1) << 1);
    boolean isHalfEnough = (long) power * power / 2 >= 2 * keys * keys && power > CELLS_MIN;
    return new OthelloHash(hash, seed, power, isHalfEnough ? power / 2 : power);
  }

  static boolean isSeed(Hash hash, long seed) {
    return hash == Hash.CRC32 || (seed & 1) == 1;
  }

  static boolean isSize(Hash hash, long cells) {
    return cells >= 1 && cells <= CELLS_MAX && (hash != Hash.CRC32 || Long.bitCount(cells) == 1);
  }

  public int cells() {
    return na + nb;
  }

  /** The key's cell of A. */
  public int a(long flowHash) {
    return index(
        hash == Hash.CRC32 ? mix((int) flowHash ^ (int) seed) : (int) (flowHash * seed), na);
  }

  /** The key's cell of B, {@code na} and up. */
  public int b(long flowHash) {
    int half =
        hash == Hash.CRC32
            ? mix(Integer.rotateLeft((int) flowHash, 16) ^ (int) (seed >>> 32))
            : (int) (flowHash * seed >>> 32);
    return na + index(half, nb);
  }

  private static int index(int half, int cells) {
    return (int) (Integer.toUnsignedLong(half) * cells >>> 32);
  }

  private static int mix(int half) {
    int v = half;
    for (int round = 0; round < 2; round++) {
      v += v << 10;
      v ^= v >>> 6;
      v += v << 3;
      v ^= v >>> 11;
      v += v << 15;
    }
    return v;
  }
}
