// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Which generations are settled, as in the ZooKeeper node (protocol/README.md §4): no mux opens
 * connections by an older one.
 *
 * @param services by id
 */
public record Settled(int format, SortedMap<Integer, Long> services) {
  static final int FORMAT = 1;
  private static final long GENERATION_MAX = 0xffff_ffffL;

  public static final Settled NONE = of(Collections.emptySortedMap());

  public Settled {
    services.forEach(
        (service, generation) -> {
          if (generation == null || generation < 1 || generation > GENERATION_MAX) {
            throw new IllegalArgumentException(
                "settled.services.%d is %d; allowed: 1..%d"
                    .formatted(service, generation, GENERATION_MAX));
          }
        });
    services = Collections.unmodifiableSortedMap(new TreeMap<>(services));
  }

  public static Settled of(SortedMap<Integer, Long> services) {
    return new Settled(FORMAT, services);
  }
}
