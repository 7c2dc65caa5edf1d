// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import java.util.Arrays;

/**
 * The arrays of one generation: {@code A[a(h)] ^ B[b(h)]} is the code of the flow hash h, and the
 * code is a bucket of the ring. Immutable.
 */
public final class OthelloArrays {
  public static final int BITS_MIN = 8;
  public static final int BITS_MAX = 16;

  private final OthelloHash hash;
  private final long generation;
  private final int bits;
  private final char[] cells;

  /** Cells of A, then of B. Takes ownership of them: they must not be written to afterwards. */
  OthelloArrays(OthelloHash hash, long generation, int bits, char[] cells) {
    if (bits < BITS_MIN || bits > BITS_MAX) {
      throw new IllegalArgumentException("%d bits; allowed: 8..16".formatted(bits));
    }
    if (cells.length != hash.cells()) {
      throw new IllegalArgumentException(
          "%d cells for sizes %d and %d".formatted(cells.length, hash.na(), hash.nb()));
    }
    this.hash = hash;
    this.generation = generation;
    this.bits = bits;
    this.cells = cells;
  }

  public OthelloHash hash() {
    return hash;
  }

  public long generation() {
    return generation;
  }

  /** The same cells under the number with which they are committed. */
  public OthelloArrays withGeneration(long other) {
    return new OthelloArrays(hash, other, bits, cells);
  }

  /** The bits of a cell. */
  public int bits() {
    return bits;
  }

  public int buckets() {
    return 1 << bits;
  }

  public int code(long flowHash) {
    return cells[hash.a(flowHash)] ^ cells[hash.b(flowHash)];
  }

  /** The cells themselves, which must not be written to. */
  char[] cells() {
    return cells;
  }

  /** Whether seed, sizes and bits are the same, so that the cells can be compared. */
  public boolean isLike(OthelloArrays other) {
    return hash.equals(other.hash) && bits == other.bits;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof OthelloArrays arrays
        && generation == arrays.generation
        && isLike(arrays)
        && Arrays.equals(cells, arrays.cells);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(cells);
  }

  @Override
  public String toString() {
    return "arrays of generation %d, %d and %d cells of %d bits"
        .formatted(generation, hash.na(), hash.nb(), bits);
  }
}
