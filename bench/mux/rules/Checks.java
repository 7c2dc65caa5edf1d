// SPDX-License-Identifier: Apache-2.0
package rules;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Tests of what bench/run p4_rules counts: tables by hand, and naive oracles. Prints each row;
 * throws at the first that fails.
 */
public final class Checks {
  private Checks() {}

  public static void main(String[] args) {
    long seed = Long.parseLong(args[0]);
    System.out.println("seed " + seed);
    byHand();
    allRanges(64);
    Random random = new Random(seed);
    allRows(4, 3);
    for (int i = 0; i < 100; i++) {
      fewest(row(random, 8, 2 + random.nextInt(2)));
    }
    System.out.println("ok - 100 rows of 8 buckets: as few entries as the exhaustive search");
    for (int i = 0; i < 1000; i++) {
      int[] row = runs(random, 1 << 4 + random.nextInt(7));
      compare(row, moved(random, row));
    }
    System.out.println("ok - 1000 changes of larger rows: lookups, bounds and writes");
  }

  private static void expect(String what, Object found, Object wanted) {
    if (!found.equals(wanted)) {
      throw new AssertionError("%s: %s, expected %s".formatted(what, found, wanted));
    }
  }

  private record Row(String what, int[] row, int ranges, int disjoint, int shortest) {}

  private static void byHand() {
    Row[] rows = {
      new Row("one owner", new int[] {5, 5, 5, 5}, 1, 1, 1),
      new Row("halves", new int[] {1, 1, 2, 2}, 2, 2, 2),
      new Row("one of four", new int[] {1, 2, 1, 1}, 3, 3, 2),
      new Row("one to six of eight", new int[] {1, 2, 2, 2, 2, 2, 2, 1}, 3, 6, 3),
      new Row("alternating", new int[] {1, 2, 1, 2}, 4, 4, 3),
      new Row("no owner is one too", new int[] {0, 0, 0, 7}, 2, 3, 2),
    };
    for (Row each : rows) {
      expect(each.what + ", ranges", new Ranges(each.row).rules(), each.ranges);
      expect(each.what + ", disjoint", PrefixTable.disjoint(each.row).entries(), each.disjoint);
      expect(each.what + ", shortest", PrefixTable.shortest(each.row).entries(), each.shortest);
      System.out.println("ok - " + each.what);
    }
  }

  /** Each range of so many buckets: its entries are the fewest blocks, by all ways to cut it. */
  private static void allRanges(int buckets) {
    for (int start = 0; start < buckets; start++) {
      for (int end = start + 1; end <= buckets; end++) {
        int[] row = new int[buckets];
        Arrays.setAll(row, bucket -> bucket); // all others alone
        Arrays.fill(row, start, end, buckets);
        int found = PrefixTable.disjoint(row).entries() - (buckets - (end - start));
        expect("range %d to %d".formatted(start, end), found, blocks(start, end));
      }
    }
    System.out.println("ok - all ranges of " + buckets + " buckets: as few blocks as any cut has");
  }

  private static int blocks(int start, int end) {
    int[] fewest = new int[end + 1];
    for (int from = end - 1; from >= start; from--) {
      fewest[from] = Integer.MAX_VALUE;
      for (int size = 1; from % size == 0 && from + size <= end; size *= 2) {
        fewest[from] = Math.min(fewest[from], 1 + fewest[from + size]);
      }
    }
    return fewest[start];
  }

  /** Every row of so many buckets and owners. */
  private static void allRows(int buckets, int owners) {
    int rows = (int) Math.pow(owners, buckets);
    for (int number = 0; number < rows; number++) {
      int[] row = new int[buckets];
      for (int bucket = 0, rest = number; bucket < buckets; bucket++, rest /= owners) {
        row[bucket] = rest % owners;
      }
      fewest(row);
    }
    System.out.printf(
        "ok - all %d rows of %d buckets: as few entries as the exhaustive search%n", rows, buckets);
  }

  private static void fewest(int[] row) {
    int entries = PrefixTable.shortest(row).entries();
    String what = Arrays.toString(row);
    expect(what + ", with " + entries, exists(row, new int[2 * row.length], 1, entries), true);
    expect(what + ", with less", exists(row, new int[2 * row.length], 1, entries - 1), false);
  }

  /**
   * Whether some table with at most so many entries from this node on gives the row: tries each
   * action at each prefix, the shortest first. A bucket is looked up by comparing prefixes, from
   * the longest one on.
   */
  private static boolean exists(int[] row, int[] actions, int node, int left) {
    if (node == actions.length) {
      return true;
    }
    for (int action : choices(row, left)) {
      actions[node] = action;
      int bucket = node - row.length;
      boolean isRight = bucket < 0 || naive(actions, bucket) == row[bucket] + 1;
      if (isRight && exists(row, actions, node + 1, left - (action > 0 ? 1 : 0))) {
        return true;
      }
    }
    actions[node] = 0;
    return false;
  }

  /** No entry, or an owner of the row's, as long as entries are left. */
  private static int[] choices(int[] row, int left) {
    IntStream owners = Arrays.stream(row).map(owner -> owner + 1).distinct();
    return left == 0 ? new int[] {0} : IntStream.concat(IntStream.of(0), owners).toArray();
  }

  private static int naive(int[] actions, int bucket) {
    int bits = Integer.numberOfTrailingZeros(actions.length / 2);
    for (int length = bits; length >= 0; length--) {
      int action = actions[(1 << length) + (bucket >> bits - length)];
      if (action > 0) {
        return action;
      }
    }
    return 0;
  }

  /** Both tables give the row; the bounds of entries hold; writes are those of sets of rules. */
  private static void compare(int[] before, int[] after) {
    PrefixTable disjoint = PrefixTable.disjoint(after);
    PrefixTable shortest = PrefixTable.shortest(after);
    for (int bucket = 0; bucket < after.length; bucket++) {
      expect("disjoint, bucket " + bucket, disjoint.lookup(bucket), after[bucket]);
      expect("shortest, bucket " + bucket, shortest.lookup(bucket), after[bucket]);
    }
    int ranges = new Ranges(after).rules();
    int owners = (int) Arrays.stream(after).distinct().count();
    expect("no more than disjoint", shortest.entries() <= disjoint.entries(), true);
    expect("at least one an owner", shortest.entries() >= owners, true);
    expect("ranges at most as many as blocks", ranges <= disjoint.entries(), true);
    expect("no writes", shortest.writesFrom(PrefixTable.shortest(after)), 0);
    Set<String> was = rules(before);
    Set<String> is = rules(after);
    expect("rules of the oracle", is.size(), ranges);
    Set<String> ranged = new HashSet<>(); // a range in both, with another owner, is one write
    was.stream().filter(rule -> !is.contains(rule)).forEach(rule -> ranged.add(rule.split("=")[0]));
    is.stream().filter(rule -> !was.contains(rule)).forEach(rule -> ranged.add(rule.split("=")[0]));
    expect("writes", new Ranges(after).writesFrom(new Ranges(before)), ranged.size());
  }

  private static Set<String> rules(int[] row) {
    Set<String> rules = new HashSet<>();
    int start = 0;
    for (int end = 1; end <= row.length; end++) {
      if (end == row.length || row[end] != row[start]) {
        rules.add("%d-%d=%d".formatted(start, end, row[start]));
        start = end;
      }
    }
    return rules;
  }

  private static int[] row(Random random, int buckets, int owners) {
    return random.ints(buckets, 0, owners).toArray();
  }

  /** Ranges of random lengths. */
  private static int[] runs(Random random, int buckets) {
    int[] row = new int[buckets];
    int longest = 1 + random.nextInt(buckets);
    for (int bucket = 0; bucket < buckets; ) {
      int end = Math.min(buckets, bucket + 1 + random.nextInt(longest));
      Arrays.fill(row, bucket, end, random.nextInt(10));
      bucket = end;
    }
    return row;
  }

  private static int[] moved(Random random, int[] row) {
    int[] next = row.clone();
    for (int moves = random.nextInt(4); moves > 0; moves--) {
      int start = random.nextInt(row.length);
      int end = start + 1 + random.nextInt(row.length - start);
      Arrays.fill(next, start, end, random.nextInt(10));
    }
    return next;
  }
}
