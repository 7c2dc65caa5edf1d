// SPDX-License-Identifier: Apache-2.0
package balancers;

/**
 * What happens in a run, in slots of 0.1 ms.
 *
 * @param connections that open, at times spread evenly at random
 * @param opening slots in which they open
 * @param pace slots from one burst of a connection to its next: 1 is 10 Gb/s, 10 is 1 Gb/s
 * @param muxes among which ECMP spreads connections
 * @param reshuffle slots after which ECMP spreads them otherwise; 0: never
 * @param change slots from one change of the pool to the next; 0: never
 */
record Scenario(int connections, int opening, int pace, int muxes, int reshuffle, int change) {
  static final int SECOND = 10_000;
  static final int SERVERS = 32;

  /** Packets of 1,500 bytes that 10 Gb/s carry in a slot. */
  static final int BURST = 83;

  Scenario {
    if (connections < 1 || opening < 1 || pace < 1 || muxes < 1 || reshuffle < 0 || change < 0) {
      throw new IllegalArgumentException(
          "%d, %d, %d, %d, %d, %d".formatted(connections, opening, pace, muxes, reshuffle, change));
    }
  }

  /** The paper's: one balancer, and 6 s from one change of the pool to the next. */
  static Scenario plain(int connections, int pace) {
    return new Scenario(connections, 6 * SECOND, pace, 1, 0, 0);
  }

  Scenario withMuxes(int count, int reshuffleSlots) {
    return new Scenario(connections, opening, pace, count, reshuffleSlots, change);
  }

  Scenario withChanges(int slots, int count) {
    return new Scenario(connections, slots * count, pace, muxes, reshuffle, slots);
  }
}
