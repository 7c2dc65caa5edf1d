// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

/**
 * The pseudo-random numbers of placements: 64 bits from a backend's id and a counter. No outsider
 * chooses either, so it needs no key; but it must never change, because every ring would change
 * with it.
 *
 * <p>Twice the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA '14; Stafford's variant 13),
 * each a bijection of 64 bits.
 */
final class PlacementHash {
  private static final long GOLDEN = 0x9e3779b97f4a7c15L;

  private PlacementHash() {}

  static long of(int id, long counter) {
    return mix(seed(id) + counter * GOLDEN);
  }

  /** The first step of {@link #of}, computed once for many counters. */
  static long seed(int id) {
    return mix(id * GOLDEN);
  }

  static long ofSeed(long seed, long counter) {
    return mix(seed + counter * GOLDEN);
  }

  private static long mix(long z) {
    long a = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    long b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL;
    return b ^ (b >>> 31);
  }
}
