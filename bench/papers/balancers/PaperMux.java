// SPDX-License-Identifier: Apache-2.0
package balancers;

import java.util.Arrays;

/**
 * Algorithm 1 of the Maat paper as it is written, of one mux: the loads T, the backups B, the flags
 * F, and the filter. Servers are numbers from 0.
 */
final class PaperMux {
  static final int NULL = -1;
  final long[] load; // T
  final int[] backup; // B
  final boolean[] isBackup; // F
  final CountingFilter filter;
  private final long delta;
  private final Unit unit;

  /** What T counts (Figure 9). */
  enum Unit {
    PACKETS,
    /** But each flow's first one, as on a switch that reads loads with it (Figures 14 and 15). */
    LATER,
    CONNECTIONS,
    /** Flows that have sent 10 KB. */
    LARGE
  }

  PaperMux(int servers, long delta, Unit unit, CountingFilter filter) {
    load = new long[servers];
    backup = new int[servers];
    isBackup = new boolean[servers];
    this.filter = filter;
    this.delta = delta;
    this.unit = unit;
    Arrays.fill(backup, NULL);
  }

  /**
   * Lines 1 to 19: the first packet of a flow.
   *
   * @param s1 the server by hash
   * @param s2 the server at random, which counts only if s1 has no backup; it may be s1
   */
  int first(long flow, int s1, int s2) {
    if (backup[s1] == NULL) {
      if (load[s1] - load[s2] >= delta && !isBackup[s2]) {
        backup[s1] = s2;
        isBackup[s2] = true;
        return toBackup(flow, s2);
      }
    } else if (load[s1] - load[backup[s1]] >= delta) {
      return toBackup(flow, backup[s1]);
    }
    load[s1] += firsts();
    return s1;
  }

  private int toBackup(long flow, int server) {
    load[server] += firsts();
    filter.add(flow);
    return server;
  }

  private int firsts() {
    return unit == Unit.LARGE || unit == Unit.LATER ? 0 : 1;
  }

  /** Lines 20 to 29, without the load. */
  int later(long flow, int s1) {
    return backup[s1] != NULL && filter.has(flow) ? backup[s1] : s1;
  }

  /** The load of later packets. */
  void count(int server, int packets, boolean isNowLarge) {
    load[server] +=
        switch (unit) {
          case PACKETS, LATER -> packets;
          case CONNECTIONS -> 0;
          case LARGE -> isNowLarge ? 1 : 0;
        };
  }

  /** A FIN removes its flow from the filter, if it seems to be there. */
  void last(long flow) {
    if (filter.has(flow)) {
      filter.remove(flow);
    }
  }

  /** The data plane is updated: T, B, F and the filter are reset. */
  void reset() {
    Arrays.fill(load, 0);
    Arrays.fill(backup, NULL);
    Arrays.fill(isBackup, false);
    filter.clear();
  }
}
