// SPDX-License-Identifier: Apache-2.0
package balancers;

import io.fairlead.controller.core.steering.othello.OthelloMap;
import io.fairlead.controller.core.words.Hash;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Figure 11: bytes of a mux for one service of 32 servers while so many connections are open, from
 * the sizes of the tables. IPv4; an entry of a table of connections is their addresses, ports and
 * protocol, and the server.
 */
final class Memory {
  static final int[] CONNECTIONS = {16_000, 65_000, 130_000, 260_000, 520_000, 1_040_000};
  private static final int ADDRESS = 4;
  private static final int ENTRY = 13 + 2; // addresses, ports and protocol; a server
  private static final int BUCKET = 8; // of the mux's ring: owner, and the number of a list
  private static final int CODE_BITS = 12;
  private static final int LOAD = 8;

  private Memory() {}

  /** By connections, bytes by method. */
  static Map<String, Object> figure11(long seed) {
    Map<String, Object> figure = new LinkedHashMap<>();
    for (int connections : CONNECTIONS) {
      Map<String, Double> row = new LinkedHashMap<>();
      double servers = ADDRESS * Scenario.SERVERS;
      double othello =
          OthelloMap.sized(Hash.SIPHASH, seed, connections).hash().cells() * CODE_BITS / 8.0
              + Concury.CODES
              + servers;
      row.put(
          Methods.MAGLEV + " and connections",
          Baselines.MaglevTable.SIZE + (double) ENTRY * connections + servers);
      row.put(Methods.DIGESTS, DigestTable.BITS / 8.0 * connections + servers);
      row.put(Methods.CONCURY, othello);
      row.put(
          Methods.PAPER,
          othello + PaperMaat.PAPER.kib() * 1024 + (4 + 1 + 1.0 / 8) * Scenario.SERVERS);
      row.put(Methods.ROUND_ROBIN, servers);
      row.put(
          Methods.OURS,
          BUCKET * (double) TwoBuckets.BUCKETS
              + servers
              + TwoBuckets.Settings.DEFAULT.counters()
              + 2.0 * LOAD * Scenario.SERVERS);
      figure.put("" + connections, row);
    }
    return figure;
  }
}
