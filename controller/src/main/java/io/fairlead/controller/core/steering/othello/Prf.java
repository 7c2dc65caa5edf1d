// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

/**
 * Numbers that only depend on a committed seed and what they are for, so that any controller draws
 * the same: SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
 * 2014), at any place of its sequence.
 */
final class Prf {
  private static final long GAMMA = 0x9e3779b97f4a7c15L;

  private Prf() {}

  /** All 64 bits of the result depend on all of {@code value}, one to one. */
  static long mix(long value) {
    long v = value;
    v = (v ^ v >>> 30) * 0xbf58476d1ce4e5b9L;
    v = (v ^ v >>> 27) * 0x94d049bb133111ebL;
    return v ^ v >>> 31;
  }

  /** The {@code n}-th number of the sequence of {@code seed}. */
  static long at(long seed, long n) {
    return mix(seed + (n + 1) * GAMMA);
  }

  /** A number below {@code bound}, which is at most 2^31. */
  static int below(long random, int bound) {
    return (int) ((random >>> 32) * bound >>> 32);
  }
}
