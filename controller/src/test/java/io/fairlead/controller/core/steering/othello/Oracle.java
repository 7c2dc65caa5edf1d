// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import io.fairlead.controller.core.words.Hash;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** Known connections as a plain map, and what must hold of a map and of arrays for them. */
final class Oracle {
  final Map<Long, Integer> servers = new HashMap<>();
  final Random random;

  Oracle(long seed) {
    random = new Random(seed);
  }

  /** A key among so few that all that can happen to one does. */
  long key(int keys) {
    return Prf.at(7, random.nextInt(keys));
  }

  int server(int servers) {
    return 1 + random.nextInt(servers);
  }

  /** Adds and removes at random, in both. */
  void churn(OthelloMap map, int steps, int keys, int servers) {
    for (int step = 0; step < steps; step++) {
      long key = key(keys);
      boolean isPut = random.nextInt(5) < 3;
      int server = server(servers);
      Integer before = isPut ? this.servers.put(key, server) : this.servers.remove(key);
      int seen = isPut ? map.put(key, server) : map.remove(key);
      if (seen != (before == null ? 0 : before)) {
        throw new AssertionError(
            "%s %016x: %d before, expected %s"
                .formatted(isPut ? "put" : "remove", key, seen, before));
      }
    }
  }

  void check(OthelloMap map, int keys, int servers) {
    int[] counts = new int[servers + 1];
    for (int i = 0; i < keys; i++) {
      long key = Prf.at(7, i);
      int expected = this.servers.getOrDefault(key, 0);
      if (map.server(key) != expected) {
        throw new AssertionError(
            "%016x: server %d, expected %d".formatted(key, map.server(key), expected));
      }
      counts[expected] += expected == 0 ? 0 : 1;
    }
    for (int server = 1; server <= servers; server++) {
      if (map.size(server) != counts[server]) {
        throw new AssertionError(
            "server %d has %d, expected %d".formatted(server, map.size(server), counts[server]));
      }
    }
    if (map.size() != this.servers.size() || map.size() != Arrays.stream(counts).sum()) {
      throw new AssertionError("%d keys, expected %d".formatted(map.size(), this.servers.size()));
    }
  }

  /** Connections whose code does not fit, by the arrays' own definition. */
  int miscoded(OthelloArrays arrays, ServerBuckets buckets) {
    int miscoded = 0;
    for (Map.Entry<Long, Integer> each : servers.entrySet()) {
      miscoded += buckets.fits(each.getValue(), arrays.code(each.getKey())) ? 0 : 1;
    }
    return miscoded;
  }

  /** Owners of all buckets: each of the servers has some. */
  char[] owners(int buckets, int servers) {
    char[] owners = new char[buckets];
    for (int bucket = 0; bucket < buckets; bucket++) {
      owners[bucket] = (char) (bucket < servers ? bucket + 1 : server(servers));
    }
    return owners;
  }

  Hash hash() {
    return Hash.values()[random.nextInt(Hash.values().length)];
  }
}
