// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.IntPredicate;

/**
 * 6LB's table of candidates (Algorithm 3): each bucket has a list of servers, and servers in turns
 * take the next bucket of their own permutation whose list is not full. With one choice it is
 * Maglev's.
 */
final class CandidateTable {
  static final int NONE = -1;

  /** By choice, then by bucket: a server. */
  private final int[][] servers;

  private CandidateTable(int[][] servers) {
    this.servers = servers;
  }

  int choices() {
    return servers.length;
  }

  int buckets() {
    return servers[0].length;
  }

  int server(int bucket, int choice) {
    return servers[choice][bucket];
  }

  boolean has(int bucket, int server) {
    for (int[] row : servers) {
      if (row[bucket] == server) {
        return true;
      }
    }
    return false;
  }

  /** Each server's walk over all buckets: from {@code offsets} on, by steps of {@code skips}. */
  record Permutations(int buckets, int[] offsets, int[] skips) {
    static Permutations random(int buckets, int servers, SplittableRandom random) {
      int[] offsets = new int[servers];
      int[] skips = new int[servers];
      for (int server = 0; server < servers; server++) {
        offsets[server] = random.nextInt(buckets);
        do {
          skips[server] = 1 + random.nextInt(buckets - 1);
        } while (divisor(skips[server], buckets) != 1);
      }
      return new Permutations(buckets, offsets, skips);
    }

    private static int divisor(int a, int b) {
      return b == 0 ? a : divisor(b, a % b);
    }
  }

  /** The table of the servers in {@code pool}, who take their turns in this order. */
  static CandidateTable of(Permutations permutations, int[] pool, int choices) {
    int buckets = permutations.buckets();
    int[][] table = new int[choices][buckets];
    for (int[] row : table) {
      Arrays.fill(row, NONE);
    }
    int[] seen = new int[pool.length];
    int[] position = new int[pool.length];
    Arrays.setAll(position, turn -> permutations.offsets()[pool[turn]]);
    for (int filled = 0; ; ) {
      for (int turn = 0; turn < pool.length; turn++) {
        int skip = permutations.skips()[pool[turn]];
        while (seen[turn] < buckets && table[choices - 1][position[turn]] != NONE) {
          seen[turn]++;
          position[turn] = (position[turn] + skip) % buckets;
        }
        if (seen[turn] == buckets) {
          continue;
        }
        int choice = 0;
        while (table[choice][position[turn]] != NONE) {
          choice++;
        }
        table[choice][position[turn]] = pool[turn];
        seen[turn]++;
        position[turn] = (position[turn] + skip) % buckets;
        filled++;
        if (filled == buckets * choices) {
          return new CandidateTable(table);
        }
      }
    }
  }

  /**
   * The part of the entries of remaining servers whose bucket no longer has this server: what 6LB
   * loses without its flow table, if each candidate is as likely.
   */
  double failures(CandidateTable after, IntPredicate isRemaining) {
    int lost = 0;
    int all = 0;
    for (int[] row : servers) {
      for (int bucket = 0; bucket < row.length; bucket++) {
        if (isRemaining.test(row[bucket])) {
          all++;
          lost += after.has(bucket, row[bucket]) ? 0 : 1;
        }
      }
    }
    return (double) lost / all;
  }

  /** Fails unless the paper's example (its Figure 6) comes out as printed there. */
  static void checkExample() {
    Permutations example = new Permutations(7, new int[] {4, 1, 5, 6}, new int[] {1, 2, 5, 1});
    CandidateTable before = of(example, new int[] {0, 1, 2, 3}, 2);
    CandidateTable after = of(example, new int[] {1, 2, 3}, 2);
    check(before, "31 12 30 12 01 20 30");
    check(after, "31 12 31 12 32 21 32");
    double failures = before.failures(after, server -> server != 0);
    if (failures != 0.1) {
      throw new IllegalStateException("Figure 6 has 10 % of failures, not " + failures);
    }
  }

  private static void check(CandidateTable table, String printed) {
    StringBuilder text = new StringBuilder();
    for (int bucket = 0; bucket < table.buckets(); bucket++) {
      text.append(bucket == 0 ? "" : " ").append(table.server(bucket, 0));
      text.append(table.server(bucket, 1));
    }
    if (!text.toString().equals(printed)) {
      throw new IllegalStateException("Figure 6 has %s, not %s".formatted(printed, text));
    }
  }
}
