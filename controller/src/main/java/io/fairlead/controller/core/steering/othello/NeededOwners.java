// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import io.fairlead.controller.core.ring.Backend;
import java.util.BitSet;

/** Former owners of buckets that known connections need: they have one of their codes there. */
public final class NeededOwners {
  /** Buckets all of whose former owners are needed. */
  private final BitSet all = new BitSet();

  /** By server, null for none. */
  private final BitSet[] buckets = new BitSet[Backend.MAX + 1];

  /** All former owners of the bucket are. */
  void all(int bucket) {
    all.set(bucket);
  }

  /** All former owners of the first {@code buckets}. */
  public static NeededOwners everywhere(int buckets) {
    NeededOwners needed = new NeededOwners();
    needed.all.set(0, buckets);
    return needed;
  }

  void add(int bucket, int server) {
    if (buckets[server] == null) {
      buckets[server] = new BitSet();
    }
    buckets[server].set(bucket);
  }

  public boolean has(int bucket, int server) {
    return all.get(bucket) || (buckets[server] != null && buckets[server].get(bucket));
  }
}
