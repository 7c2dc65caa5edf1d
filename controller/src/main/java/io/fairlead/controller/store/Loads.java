// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * How busy the backends of a service are, as in its ZooKeeper node (protocol/README.md §4).
 *
 * @param loads by id; a backend without one is not known to be busy or idle
 */
public record Loads(int format, SortedMap<Integer, Long> loads) {
  static final int FORMAT = 1;

  public Loads {
    loads = Collections.unmodifiableSortedMap(new TreeMap<>(loads));
  }

  public static Loads of(SortedMap<Integer, Long> loads) {
    return new Loads(FORMAT, loads);
  }
}
