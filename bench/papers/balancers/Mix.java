// SPDX-License-Identifier: Apache-2.0
package balancers;

/**
 * SplitMix64's finalizer: other bits from a flow's hash, for what must not depend on its buckets.
 */
final class Mix {
  private Mix() {}

  static long of(long value) {
    long mixed = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
    return mixed ^ mixed >>> 31;
  }

  /** From 0 to n - 1. */
  static int below(int n, long flow, long salt) {
    return (int) Long.remainderUnsigned(of(flow + salt * 0x9e3779b97f4a7c15L), n);
  }
}
