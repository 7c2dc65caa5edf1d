// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** A ring whose bucket 0 moves from owner to owner, for tests: "1 2 3" is from 1 to 2 to 3. */
public final class Story {
  public static final int WINDOW = 240;
  public static final long START = 1_700_000_000;

  private Ring ring = Ring.empty(1, Ring.BUCKETS_MIN, START - 100_000);
  private long now = START;

  /** Backends 1 to {@code backends}; buckets have no owner. */
  public Story(int backends) {
    List<Backend> all = new ArrayList<>();
    for (int id = 1; id <= backends; id++) {
      all.add(new Backend(id, Address.parse("10.1.0." + id).orElseThrow(), 100, false));
    }
    apply(all, Runs.EMPTY, START - 90_000);
  }

  /** Moves bucket 0 to one after another, ten seconds apart; the first is a window earlier. */
  public Story through(String owners) {
    int[] ids = Arrays.stream(owners.trim().split(" ")).mapToInt(Integer::parseInt).toArray();
    to(ids[0], Set.of());
    now += 1000;
    for (int i = 1; i < ids.length; i++) {
      to(ids[i], Set.of());
    }
    return this;
  }

  /** Moves bucket 0, and buries the dead. */
  public Story to(int owner, Set<Integer> dead) {
    char[] next = Runs.EMPTY.owners(ring);
    next[0] = (char) owner;
    now += 10;
    List<Backend> buried =
        dead.stream().map(id -> Backend.dead(id, ring.backends().get(id).address())).toList();
    apply(buried, Runs.between(ring, next), now);
    return this;
  }

  public Story wait(int seconds) {
    now += seconds;
    return this;
  }

  public Story apply(List<Backend> backends, Runs runs, long committed) {
    try {
      ring = ring.apply(Delta.after(ring, committed, backends, runs));
    } catch (RefusedException e) {
      throw new AssertionError(e);
    }
    return this;
  }

  public Ring ring() {
    return ring;
  }

  public long now() {
    return now;
  }

  /** Bucket 0's owner, then those before it whose windows are open, the latest first. */
  String line() {
    StringBuilder line = new StringBuilder().append(ring.current(0));
    for (int i = 0; i < ring.history(0).open(now, WINDOW); i++) {
      line.append(" ").append(ring.history(0).owner(i));
    }
    return line.toString();
  }
}
