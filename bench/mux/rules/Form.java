// SPDX-License-Identifier: Apache-2.0
package rules;

import io.fairlead.controller.core.ring.Ring;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** A ring as a switch could match it: by bucket, by ranges, or by prefixes. */
final class Form {
  private final Ranges owners;
  private final PrefixTable disjoint;
  private final PrefixTable shortest;
  private final Ring ring;

  Form(Ring ring) {
    this.ring = ring;
    int[] owner = new int[ring.buckets()];
    Arrays.setAll(owner, ring::current);
    owners = new Ranges(owner);
    disjoint = PrefixTable.disjoint(owner);
    shortest = PrefixTable.shortest(owner);
    check(shortest, owner);
    check(disjoint, owner);
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

  /** Rules of each form; each says a bucket's owner. */
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
    return rules;
  }

  /** What to write for the generation that leads from another form to this one. */
  Map<String, Integer> writesFrom(Form before) {
    Map<String, Integer> writes = new LinkedHashMap<>();
    int rows = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      boolean isSame =
          ring.current(bucket) == before.ring.current(bucket)
              && ring.history(bucket).equals(before.ring.history(bucket));
      rows += isSame ? 0 : 1;
    }
    writes.put("rows", rows);
    writes.put("ranges", owners.writesFrom(before.owners));
    writes.put("disjoint", disjoint.writesFrom(before.disjoint));
    writes.put("shortest", shortest.writesFrom(before.shortest));
    return writes;
  }
}
