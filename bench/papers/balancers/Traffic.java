// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;
import java.util.SplittableRandom;

/** The connections of a run, in the order in which they open; the same for all methods. */
final class Traffic {
  /** The slot of each one's SYN. */
  final int[] start;

  /** Packets after the SYN, the last of which is the FIN. */
  final int[] packets;

  /**
   * What the muxes' hash (SipHash with a key that clients do not know) makes of it: 64 random bits.
   */
  final long[] hash;

  final long total;

  private Traffic(int[] start, int[] packets, long[] hash) {
    this.start = start;
    this.packets = packets;
    this.hash = hash;
    long sum = start.length;
    for (int each : packets) {
      sum += each;
    }
    total = sum;
  }

  static Traffic of(FlowSizes sizes, Scenario scenario, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    int n = scenario.connections();
    int[] start = new int[n];
    int[] packets = new int[n];
    long[] hash = new long[n];
    for (int i = 0; i < n; i++) {
      start[i] = random.nextInt(scenario.opening());
      packets[i] = sizes.packets(random.nextDouble()) + 1;
      hash[i] = random.nextLong();
    }
    Arrays.sort(start);
    return new Traffic(start, packets, hash);
  }

  int size() {
    return start.length;
  }
}
