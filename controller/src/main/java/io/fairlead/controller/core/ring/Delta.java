// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.List;

/**
 * The difference between one generation of a service's ring and the next (protocol/README.md §5).
 *
 * @param committed Unix seconds: when every bucket in {@code moves} leaves its owner
 * @param closedUntil former owners that left a bucket until then are not named any more
 * @param backends added, changed or removed, by ascending id
 * @param moves the next owner of buckets
 * @param releases the former owner that buckets do not name any more; 0: none of them
 */
public record Delta(
    int service,
    long generation,
    int buckets,
    long committed,
    long closedUntil,
    List<Backend> backends,
    Runs moves,
    Runs releases) {
  public Delta {
    backends = List.copyOf(backends);
    if (generation < 2) {
      throw new IllegalArgumentException(
          "a delta leads to generation 2 or later, not " + generation);
    }
  }

  /** The one after {@code base}, which closes and releases nothing. */
  public static Delta after(Ring base, long committed, List<Backend> backends, Runs moves) {
    return new Delta(
        base.service(),
        base.generation() + 1,
        base.buckets(),
        committed,
        0,
        backends,
        moves,
        Runs.EMPTY);
  }

  public Delta closing(long until) {
    return new Delta(service, generation, buckets, committed, until, backends, moves, releases);
  }

  public Delta releasing(Runs owners) {
    return new Delta(service, generation, buckets, committed, closedUntil, backends, moves, owners);
  }
}
