// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.assign;

import io.fairlead.controller.core.assign.Upkeep.Limits;
import io.fairlead.controller.core.ring.FormerOwners;
import io.fairlead.controller.core.ring.Ring;
import java.util.Arrays;

/**
 * One iteration of {@link Defragmentation}: cycles in the multigraph whose vertices are backends
 * and whose edges are buckets, from the backend that owns it to the one that is to own it (Beamer,
 * NSDI '18, A.1). Each backend is on at most {@code limits.moves()} cycles.
 *
 * <p>A walk follows remaining edges from backend to backend. When it reaches a backend that it has
 * visited, the cycle is exchanged and removed. A backend with no edge left, or with no moves left,
 * is on no further cycle and is skipped from then on. So each edge is examined once, except for
 * those that a walk is on: O(buckets).
 */
final class Exchange {
  private static final int OFF_PATH = -1;

  private final char[] owners;
  private final char[] target;
  private final Limits limits;

  /** The edges by the backend that they start from; those of an id are from its next to its end. */
  private final int[] edges;

  private final int[] next;
  private final int[] ends;
  private final int[] moves;
  private final boolean[] isOut;
  private final int[] path;
  private final int[] placeOnPath;
  private int rules;
  private int backends;
  private int misplaced;

  Exchange(Ring ring, char[] target, Limits limits, FormerOwners formers) {
    this.target = target;
    this.limits = limits;
    owners = new char[target.length];
    int[] owned = ring.owned();
    next = new int[owned.length];
    ends = new int[owned.length];
    moves = new int[owned.length];
    isOut = new boolean[owned.length];
    path = new int[owned.length];
    placeOnPath = new int[owned.length];
    Arrays.fill(placeOnPath, OFF_PATH);
    int total = 0;
    for (int id = 0; id < owned.length; id++) {
      next[id] = total;
      ends[id] = total;
      total += owned[id];
      backends += owned[id] > 0 ? 1 : 0;
    }
    edges = new int[total];
    rules = 1;
    for (int bucket = 0; bucket < owners.length; bucket++) {
      int owner = ring.current(bucket);
      owners[bucket] = (char) owner;
      rules += bucket > 0 && owners[bucket - 1] != owner ? 1 : 0;
      if (owner != target[bucket]) {
        misplaced++;
        if (!formers.overflows(ring, bucket, target[bucket])) {
          edges[ends[owner]++] = bucket;
        }
      }
    }
  }

  /** The owners of all buckets afterwards. */
  char[] run() {
    for (int id = 0; id < next.length && !isReached(); id++) {
      walk(id);
    }
    return owners;
  }

  boolean isReached() {
    return rules <= limits.target() * backends;
  }

  /** Buckets that are not with their intended owner. */
  int misplaced() {
    return misplaced;
  }

  private void walk(int begin) {
    int length = 0;
    if (!isOut[begin]) {
      placeOnPath[begin] = 0;
      path[length++] = begin;
    }
    while (length > 0 && !isReached()) {
      int id = path[length - 1];
      if (isOut[id] || !hasEdge(id)) {
        isOut[id] = true;
        placeOnPath[id] = OFF_PATH;
        length--;
        continue;
      }
      int to = target[edges[next[id]]];
      if (placeOnPath[to] == OFF_PATH) {
        placeOnPath[to] = length;
        path[length++] = to;
      } else {
        int from = placeOnPath[to];
        exchange(from, length);
        length = from + 1;
      }
    }
    for (int i = 0; i < length; i++) {
      placeOnPath[path[i]] = OFF_PATH;
    }
  }

  /** Whether an edge leads on; edges to backends that are out are dropped. */
  private boolean hasEdge(int id) {
    while (next[id] < ends[id] && isOut[target[edges[next[id]]]]) {
      next[id]++;
    }
    return next[id] < ends[id];
  }

  /** Exchanges the next bucket of every backend on the path from {@code from} on. */
  private void exchange(int from, int length) {
    for (int i = from; i < length; i++) {
      int id = path[i];
      move(edges[next[id]++]);
      moves[id]++;
      isOut[id] = moves[id] == limits.moves();
      if (i > from) {
        placeOnPath[id] = OFF_PATH;
      }
    }
  }

  private void move(int bucket) {
    rules -= borders(bucket);
    owners[bucket] = target[bucket];
    rules += borders(bucket);
    misplaced--;
  }

  /** The number of a bucket's neighbours that have another owner. */
  private int borders(int bucket) {
    int borders = bucket > 0 && owners[bucket - 1] != owners[bucket] ? 1 : 0;
    boolean isLast = bucket == owners.length - 1;
    return !isLast && owners[bucket + 1] != owners[bucket] ? borders + 1 : borders;
  }
}
