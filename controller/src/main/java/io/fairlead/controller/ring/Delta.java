// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import java.util.List;

/**
 * The difference between one generation of a service's ring and the next (protocol/README.md §5).
 *
 * @param committed Unix seconds, and the {@code since} of every bucket in {@code runs}
 * @param backends added, changed or removed, by ascending id
 */
public record Delta(
    int service, long generation, int buckets, long committed, List<Backend> backends, Runs runs) {
  public Delta {
    backends = List.copyOf(backends);
    if (generation < 2) {
      throw new IllegalArgumentException(
          "a delta leads to generation 2 or later, not " + generation);
    }
  }
}
