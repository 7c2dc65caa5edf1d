// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Servers that claim a known connection besides the one that is taken for its server. A server
 * tells each connection once, so what it said is kept until it says otherwise: until it closes the
 * connection, or its next whole set lacks it.
 *
 * <p>Bounded by {@link #MAX} connections. The claim of one more is not kept, so that the connection
 * is unknown once its server reports it no longer.
 */
final class Disputes {
  /** Some 16 MiB. */
  static final int MAX = 1 << 16;

  private final int max;

  /** By connection and claimant: the claimant's set in which the claim was made. */
  private final Map<Long, Map<Integer, Integer>> claims = new HashMap<>();

  /** By server, how many whole sets it has begun. */
  private final Map<Integer, Integer> sets = new HashMap<>();

  Disputes(int max) {
    this.max = max;
  }

  boolean isEmpty() {
    return claims.isEmpty();
  }

  int size() {
    return claims.size();
  }

  /** The claimants' sets, by connection and claimant. */
  Map<Long, Map<Integer, Integer>> claims() {
    return claims;
  }

  /**
   * A server claims what is taken for another's.
   *
   * @param isInSet whether it does so since its last set began
   */
  void add(long key, int server, boolean isInSet) {
    Map<Integer, Integer> of = claims.get(key);
    if (of == null) {
      if (claims.size() >= max) {
        return;
      }
      of = new LinkedHashMap<>(2);
      claims.put(key, of);
    }
    of.put(server, isInSet ? set(server) : set(server) - 1);
  }

  /** A server claims it no longer, or has it. */
  void remove(long key, int server) {
    Map<Integer, Integer> of = claims.get(key);
    if (of != null && of.remove(server) != null && of.isEmpty()) {
      claims.remove(key);
    }
  }

  /**
   * Who claimed it first of those that still do, and its set.
   *
   * @return null if none does
   */
  Map.Entry<Integer, Integer> first(long key) {
    Map<Integer, Integer> of = claims.get(key);
    return of == null ? null : of.entrySet().iterator().next();
  }

  /** Whether a claim of this set of the server is in the one that it told last. */
  boolean isLatest(int server, int set) {
    return set(server) == set;
  }

  void begin(int server) {
    sets.merge(server, 1, Integer::sum);
  }

  /** What the server's last set lacks, it does not claim any more. */
  void end(int server) {
    Iterator<Map<Integer, Integer>> all = claims.values().iterator();
    while (all.hasNext()) {
      Map<Integer, Integer> of = all.next();
      Integer set = of.get(server);
      if (set != null && set != set(server)) {
        of.remove(server);
        if (of.isEmpty()) {
          all.remove();
        }
      }
    }
  }

  private int set(int server) {
    return sets.getOrDefault(server, 0);
  }
}
