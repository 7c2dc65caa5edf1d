// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Ring;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/**
 * Which buckets may be the codes of a server's known connections: those that it owns, or if it owns
 * none, those that name it as a former owner. Immutable.
 */
public final class ServerBuckets {
  private static final int[] NO_BUCKETS = {};

  private final char[] owners;

  /** Of server s: from starts[s] until starts[s + 1]. */
  private final int[] starts;

  private final char[] buckets;

  /** Ascending, by server. */
  private final Map<Integer, int[]> chained = new HashMap<>();

  private ServerBuckets(char[] owners, Map<Integer, BitSet> chained) {
    if (owners.length > 1 << OthelloArrays.BITS_MAX) {
      throw new IllegalArgumentException(
          "%d buckets; allowed: up to 65536".formatted(owners.length));
    }
    chained.forEach(
        (server, set) -> {
          if (set.length() > owners.length) {
            throw new IllegalArgumentException(
                "bucket %d is chained to server %d; there are %d"
                    .formatted(set.length() - 1, server, owners.length));
          }
          this.chained.put(server, set.stream().toArray());
        });
    this.owners = owners;
    starts = new int[Backend.MAX + 2];
    for (char owner : owners) {
      starts[owner + 1]++;
    }
    for (int server = 0; server <= Backend.MAX; server++) {
      starts[server + 1] += starts[server];
    }
    buckets = new char[owners.length];
    int[] next = starts.clone();
    for (int bucket = 0; bucket < owners.length; bucket++) {
      buckets[next[owners[bucket]]++] = (char) bucket;
    }
  }

  /** By who owns each bucket; 0: no backend. */
  public static ServerBuckets of(char[] owners) {
    return new ServerBuckets(owners.clone(), Map.of());
  }

  /**
   * Of this ring.
   *
   * @param chained for servers that own no bucket, those that name them
   */
  public static ServerBuckets of(Ring ring, Map<Integer, BitSet> chained) {
    char[] owners = new char[ring.buckets()];
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = (char) ring.current(bucket);
    }
    return new ServerBuckets(owners, chained);
  }

  /** How many buckets there are in all. */
  public int buckets() {
    return owners.length;
  }

  boolean owns(int server, int bucket) {
    return owners[bucket] == server;
  }

  /** Whether a connection of this server may have this bucket as its code. */
  public boolean fits(int server, int bucket) {
    return owners[bucket] == server || Arrays.binarySearch(chained(server), bucket) >= 0;
  }

  /** How many there are for this server; 0: its connections get no code. */
  public int count(int server) {
    int owned = starts[server + 1] - starts[server];
    return owned == 0 ? chained(server).length : owned;
  }

  /** The {@code i}-th of them; one that names the server only if it owns none. */
  int bucket(int server, int i) {
    int at = starts[server] + i;
    return at < starts[server + 1] ? buckets[at] : chained(server)[i];
  }

  private int[] chained(int server) {
    return chained.isEmpty() ? NO_BUCKETS : chained.getOrDefault(server, NO_BUCKETS);
  }
}
