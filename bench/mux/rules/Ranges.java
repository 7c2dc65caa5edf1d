// SPDX-License-Identifier: Apache-2.0
package rules;

/** Rules that match ranges of buckets without overlap: one for each run with one action. */
final class Ranges {
  private final int[] row;

  /**
   * @param row the action of each bucket
   */
  Ranges(int[] row) {
    this.row = row;
  }

  int rules() {
    int rules = 0;
    for (int bucket = 0; bucket < row.length; bucket++) {
      rules += isStart(bucket) ? 1 : 0;
    }
    return rules;
  }

  /**
   * Rules to add, to delete, or to give another action, to turn other ranges into these. A rule
   * whose range changes is deleted and another one added.
   */
  int writesFrom(Ranges before) {
    int writes = 0;
    for (int bucket = 0; bucket < row.length; bucket++) {
      boolean is = isStart(bucket);
      boolean was = before.isStart(bucket);
      if (is && was && end(bucket) == before.end(bucket)) {
        writes += row[bucket] == before.row[bucket] ? 0 : 1;
      } else {
        writes += (is ? 1 : 0) + (was ? 1 : 0);
      }
    }
    return writes;
  }

  private boolean isStart(int bucket) {
    return bucket == 0 || row[bucket] != row[bucket - 1];
  }

  private int end(int start) {
    int end = start + 1;
    while (end < row.length && !isStart(end)) {
      end++;
    }
    return end;
  }
}
