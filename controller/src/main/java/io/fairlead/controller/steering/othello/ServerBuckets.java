// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.steering.othello;

import io.fairlead.controller.ring.Backend;
import io.fairlead.controller.ring.Ring;
import java.util.Map;

/**
 * Which buckets may be the codes of a server's known connections: those that it owns, and a bucket
 * that is kept open for it while it drains. Immutable.
 */
public final class ServerBuckets {
  private final char[] owners;

  /** Of server s: from starts[s] until starts[s + 1]. */
  private final int[] starts;

  private final char[] buckets;
  private final Map<Integer, Integer> kept;

  private ServerBuckets(char[] owners, Map<Integer, Integer> kept) {
    if (owners.length > 1 << OthelloArrays.BITS_MAX) {
      throw new IllegalArgumentException(
          "%d buckets; allowed: up to 65536".formatted(owners.length));
    }
    kept.forEach(
        (server, bucket) -> {
          if (bucket < 0 || bucket >= owners.length) {
            throw new IllegalArgumentException(
                "kept bucket %d of server %d; there are %d"
                    .formatted(bucket, server, owners.length));
          }
        });
    this.owners = owners;
    this.kept = Map.copyOf(kept);
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

  /** By who owns each bucket; 0: nobody. */
  public static ServerBuckets of(char[] owners) {
    return new ServerBuckets(owners.clone(), Map.of());
  }

  /**
   * Of this ring.
   *
   * @param kept for servers that own no bucket, one whose packets are chained to them
   */
  public static ServerBuckets of(Ring ring, Map<Integer, Integer> kept) {
    char[] owners = new char[ring.buckets()];
    for (int bucket = 0; bucket < owners.length; bucket++) {
      owners[bucket] = (char) ring.current(bucket);
    }
    return new ServerBuckets(owners, kept);
  }

  /** How many buckets there are in all. */
  public int buckets() {
    return owners.length;
  }

  /** Whether a connection of this server may have this bucket as its code. */
  public boolean fits(int server, int bucket) {
    return owners[bucket] == server || (!kept.isEmpty() && isKept(server, bucket));
  }

  /** How many there are for this server; 0: its connections get no code. */
  public int count(int server) {
    int owned = starts[server + 1] - starts[server];
    return owned == 0 && kept.containsKey(server) ? 1 : owned;
  }

  /** The {@code i}-th of them; a kept one only if the server owns none. */
  int bucket(int server, int i) {
    int at = starts[server] + i;
    return at < starts[server + 1] ? buckets[at] : kept.get(server);
  }

  private boolean isKept(int server, int bucket) {
    Integer of = kept.get(server);
    return of != null && of == bucket;
  }
}
