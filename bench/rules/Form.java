// SPDX-License-Identifier: Apache-2.0
package rules;

import io.fairlead.controller.ring.Ring;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** A ring at one second as a switch could match it: by bucket, by ranges, or by prefixes. */
final class Form {
  private final Ranges owners;
  private final Ranges moves;
  private final PrefixTable disjoint;
  private final PrefixTable shortest;
  private final PrefixTable shortestMoves;
  private final Ring ring;

  /**
   * @param ids numbers of rows that were seen before, the same for all forms that are compared
   */
  Form(Ring ring, long now, int windowSeconds, Map<Long, Integer> ids) {
    this.ring = ring;
    int[] owner = new int[ring.buckets()];
    int[] row = new int[ring.buckets()];
    long last = 0;
    for (int bucket = 0; bucket < row.length; bucket++) {
      owner[bucket] = ring.current(bucket);
      long key = ring.current(bucket);
      if (ring.isMoved(bucket, now, windowSeconds)) {
        key |= (long) ring.previous(bucket) << 16 | ring.since(bucket) << 32;
      }
      boolean isRun = bucket > 0 && key == last;
      row[bucket] = isRun ? row[bucket - 1] : ids.computeIfAbsent(key, any -> ids.size());
      last = key;
    }
    owners = new Ranges(owner);
    moves = new Ranges(row);
    disjoint = PrefixTable.disjoint(owner);
    shortest = PrefixTable.shortest(owner);
    shortestMoves = PrefixTable.shortest(row);
    check(shortest, owner);
    check(disjoint, owner);
    check(shortestMoves, row);
  }

  static Map<Long, Integer> ids() {
    return new HashMap<>();
  }

  /** Every bucket, in each run of the bench: a wrong table must not be counted. */
  private static void check(PrefixTable table, int[] row) {
    for (int bucket = 0; bucket < row.length; bucket++) {
      if (table.lookup(bucket) != row[bucket]) {
        throw new IllegalStateException(
            "bucket %d: %d, expected %d".formatted(bucket, table.lookup(bucket), row[bucket]));
      }
    }
  }

  /**
   * Rules of each form. Without <i>moves</i> a rule says the owner alone; with them also what MOVED
   * says of buckets whose window is open.
   */
  Map<String, Object> rules() {
    Map<String, Object> rules = new LinkedHashMap<>();
    int servers = 0;
    int[] owned = ring.owned();
    for (int id = 1; id < owned.length; id++) {
      servers += owned[id] > 0 ? 1 : 0;
    }
    rules.put("servers", servers);
    rules.put("exact", ring.buckets());
    rules.put("ranges", owners.rules());
    rules.put("disjoint", disjoint.entries());
    rules.put("shortest", shortest.entries());
    rules.put("rangesMoves", moves.rules());
    rules.put("shortestMoves", shortestMoves.entries());
    return rules;
  }

  /** What to write for the generation that leads from another form to this one. */
  Map<String, Integer> writesFrom(Form before) {
    Map<String, Integer> writes = new LinkedHashMap<>();
    int rows = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      boolean isSame =
          ring.current(bucket) == before.ring.current(bucket)
              && ring.previous(bucket) == before.ring.previous(bucket)
              && ring.since(bucket) == before.ring.since(bucket);
      rows += isSame ? 0 : 1;
    }
    writes.put("rows", rows);
    writes.put("ranges", owners.writesFrom(before.owners));
    writes.put("disjoint", disjoint.writesFrom(before.disjoint));
    writes.put("shortest", shortest.writesFrom(before.shortest));
    writes.put("rangesMoves", moves.writesFrom(before.moves));
    writes.put("shortestMoves", shortestMoves.writesFrom(before.shortestMoves));
    return writes;
  }
}
