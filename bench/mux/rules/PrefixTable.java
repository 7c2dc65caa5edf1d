// SPDX-License-Identifier: Apache-2.0
package rules;

import java.util.Arrays;

/**
 * A TCAM whose entries are prefixes of the bucket's number, the longest one first. Entry {@code
 * (1 << length) + prefix} has the action of that prefix, {@link #NONE} if it has no entry; so entry
 * 1 matches each bucket, and entries {@code buckets} and more match one.
 */
final class PrefixTable {
  static final int NONE = -1;
  private final int[] actions;

  private PrefixTable(int buckets) {
    actions = new int[2 * buckets];
    Arrays.fill(actions, NONE);
  }

  /**
   * Of prefixes that do not overlap, the fewest: each range of buckets with one action is expanded
   * by itself. An entry is the largest aligned block with one action.
   *
   * @param row the action of each bucket, 0 or more; as many as a power of two
   */
  static PrefixTable disjoint(int[] row) {
    PrefixTable table = new PrefixTable(row.length);
    int[] uniform = Arrays.copyOf(table.actions, table.actions.length); // NONE: several actions
    System.arraycopy(row, 0, uniform, row.length, row.length);
    for (int node = row.length - 1; node > 0; node--) {
      boolean isUniform = uniform[2 * node] == uniform[2 * node + 1];
      uniform[node] = isUniform ? uniform[2 * node] : NONE;
    }
    for (int node = 1; node < uniform.length; node++) {
      boolean isInside = node > 1 && uniform[node >> 1] != NONE;
      table.actions[node] = isInside ? NONE : uniform[node];
    }
    return table;
  }

  /**
   * Of all tables of prefixes in which the longest match counts, one with the fewest entries
   * (Draves, King, Venkatachary, Zill, "Constructing Optimal IP Routing Tables", INFOCOM '99). From
   * the buckets up, each node gets the actions that cost it least: those of both halves, or else of
   * either. Then from the root down an entry is where the action above is not among them; it has
   * the smallest.
   */
  static PrefixTable shortest(int[] row) {
    PrefixTable table = new PrefixTable(row.length);
    int[][] least = new int[2 * row.length][];
    for (int bucket = 0; bucket < row.length; bucket++) {
      boolean isRun = bucket > 0 && row[bucket] == row[bucket - 1];
      int leaf = row.length + bucket;
      least[leaf] = isRun ? least[leaf - 1] : new int[] {row[bucket]};
    }
    for (int node = row.length - 1; node > 0; node--) {
      least[node] = merged(least[2 * node], least[2 * node + 1]);
    }
    int[] inherited = new int[2 * row.length];
    inherited[0] = NONE;
    for (int node = 1; node < least.length; node++) {
      int above = inherited[node >> 1];
      boolean isLeast = Arrays.binarySearch(least[node], above) >= 0;
      inherited[node] = isLeast ? above : least[node][0];
      table.actions[node] = isLeast ? NONE : inherited[node];
    }
    return table;
  }

  /** What two ascending sets share; all of both if they share nothing. */
  private static int[] merged(int[] one, int[] other) {
    if (Arrays.equals(one, other)) {
      return one;
    }
    int[] shared = new int[Math.min(one.length, other.length)];
    int[] all = new int[one.length + other.length];
    int both = 0;
    int any = 0;
    for (int i = 0, j = 0; i < one.length || j < other.length; ) {
      boolean isOne = j == other.length || i < one.length && one[i] <= other[j];
      boolean isOther = i == one.length || j < other.length && other[j] <= one[i];
      int action = isOne ? one[i] : other[j];
      if (isOne && isOther) {
        shared[both++] = action;
      }
      all[any++] = action;
      i += isOne ? 1 : 0;
      j += isOther ? 1 : 0;
    }
    return both > 0 ? Arrays.copyOf(shared, both) : Arrays.copyOf(all, any);
  }

  /** The action for a bucket, by the longest prefix that has an entry; {@link #NONE}: a miss. */
  int lookup(int bucket) {
    int node = actions.length / 2 + bucket;
    while (node > 0 && actions[node] == NONE) {
      node >>= 1;
    }
    return node > 0 ? actions[node] : NONE;
  }

  int entries() {
    return (int) Arrays.stream(actions).filter(action -> action != NONE).count();
  }

  /** Entries to add, to delete, or to give another action, to turn a table into this one. */
  int writesFrom(PrefixTable before) {
    int writes = 0;
    for (int node = 1; node < actions.length; node++) {
      writes += actions[node] == before.actions[node] ? 0 : 1;
    }
    return writes;
  }
}
