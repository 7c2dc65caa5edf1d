// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;

/**
 * A counting Bloom filter. A counter that has reached its maximum stays there, since no one knows
 * how many flows share it; so no flow that was added, and not removed, is ever missed, unless one
 * that was never added is removed.
 */
final class CountingFilter {
  private final byte[] counters;
  private final int max;
  private final int bits;
  private final int hashes;
  private int nonZero;

  CountingFilter(int counters, int bits, int hashes) {
    if (counters < 1 || bits < 1 || bits > 8 || hashes < 1) {
      throw new IllegalArgumentException(
          "%d counters of %d bits, %d hashes".formatted(counters, bits, hashes));
    }
    this.counters = new byte[counters];
    this.bits = bits;
    this.max = (1 << bits) - 1;
    this.hashes = hashes;
  }

  /** With as many counters as fit into so many bytes. */
  static CountingFilter ofBytes(double bytes, int bits, int hashes) {
    return new CountingFilter((int) (bytes * 8 / bits), bits, hashes);
  }

  void add(long flow) {
    for (int i = 0; i < hashes; i++) {
      int at = at(flow, i);
      int value = counters[at] & 0xff;
      if (value < max) {
        counters[at] = (byte) (value + 1);
        nonZero += value == 0 ? 1 : 0;
      }
    }
  }

  boolean has(long flow) {
    for (int i = 0; i < hashes; i++) {
      if (counters[at(flow, i)] == 0) {
        return false;
      }
    }
    return true;
  }

  /** Removes a flow that was added. */
  void remove(long flow) {
    for (int i = 0; i < hashes; i++) {
      int at = at(flow, i);
      int value = counters[at] & 0xff;
      if (value > 0 && value < max) {
        counters[at] = (byte) (value - 1);
        nonZero -= value == 1 ? 1 : 0;
      }
    }
  }

  void clear() {
    Arrays.fill(counters, (byte) 0);
    nonZero = 0;
  }

  /** Which part of the counters is not zero. */
  double fill() {
    return (double) nonZero / counters.length;
  }

  double bytes() {
    return counters.length * bits / 8.0;
  }

  private int at(long flow, int i) {
    long mixed = Mix.of(flow + i * 0x9e3779b97f4a7c15L);
    return (int) Math.multiplyHigh(mixed >>> 1, (long) counters.length << 1);
  }
}
