// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** The methods that are compared, for one run. */
record Methods(Traffic traffic, int muxes, long seed) {
  static final String HASH = "hash";
  static final String MAGLEV = "Maglev's table";
  static final String DIGESTS = "digest table (SilkRoad)";
  static final String CONCURY = "Othello (Concury)";
  static final String ROUND_ROBIN = "round robin (Cheetah)";
  static final String TWO = "two choices, all known";
  static final String PAPER = "Maat, the paper's";
  static final String OURS = "maat, two buckets";

  /** With a threshold that needs no knowledge of the traffic. */
  static final String OURS_PART = "maat, Delta 1 % of the mean load";

  private static final int ROWS = 1 << 14;

  Map<String, Function<Servers, Balancer>> all() {
    Map<String, Function<Servers, Balancer>> all = new LinkedHashMap<>();
    all.put(HASH, Baselines.Hash::new);
    all.put(MAGLEV, Baselines.MaglevTable::new);
    all.put(DIGESTS, servers -> new DigestTable(servers, muxes, ROWS));
    all.put(CONCURY, concury(0));
    all.put(ROUND_ROBIN, servers -> new Baselines.RoundRobin(servers, muxes));
    all.put(TWO, servers -> new Baselines.TwoChoices(servers, seed));
    all.put(PAPER, paper(PaperMaat.PAPER, 0));
    all.put(OURS, ours(TwoBuckets.Settings.DEFAULT));
    all.put(OURS_PART, ours(TwoBuckets.Settings.DEFAULT.withPart(0.01)));
    return all;
  }

  /**
   * Concury.
   *
   * @param reportSlots how old connections are when the controller knows them
   */
  Function<Servers, Balancer> concury(int reportSlots) {
    return servers -> new Concury(servers, traffic.hash, reportSlots, seed);
  }

  /** The same beneath the paper's Maat. */
  Function<Servers, Balancer> paper(PaperMaat.Settings settings, int reportSlots) {
    return servers ->
        new PaperMaat(
            servers, new Concury(servers, traffic.hash, reportSlots, seed), muxes, settings, seed);
  }

  Function<Servers, Balancer> ours(TwoBuckets.Settings settings) {
    return servers -> new TwoBuckets(servers, traffic.size(), muxes, settings);
  }
}
