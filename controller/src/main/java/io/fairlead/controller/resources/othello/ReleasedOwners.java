// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.steering.othello.NeededOwners;
import io.fairlead.controller.resources.hold.Questions;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Former owners that a generation may release: no known connection needs them, and none is unknown.
 * A generation releases all of a bucket or one, then the newest of these.
 */
final class ReleasedOwners {
  /** When the latest ones were due, in Unix seconds. */
  private long last;

  /** Which former owners have to stay. */
  interface Needed {
    /**
     * @param since Unix seconds at which this one lost the bucket
     */
    boolean test(int bucket, int owner, long since);
  }

  /** Whether a backend has yet to report all that was open before a move, in Unix seconds. */
  interface Awaited {
    boolean test(int backend, long since);
  }

  /**
   * Those that have to stay. Connections of others have ended by then ({@link RemovedBackends}).
   *
   * @param owners who may have connections
   * @param left who of them own no bucket any more: they may be given any code of theirs
   * @param known what known connections need
   */
  static Needed needed(Set<Integer> owners, LeftBuckets left, NeededOwners known, Awaited awaited) {
    Map<Long, Boolean> asked = new HashMap<>();
    return (bucket, owner, since) ->
        owners.contains(owner)
            && (left.has(owner)
                || known.has(bucket, owner)
                || asked.computeIfAbsent(since << 16 | owner, key -> awaited.test(owner, since)));
  }

  /** Whether there are any; not soon after the latest ones, so that many are released at once. */
  boolean areDue(ServiceImage image, Needed needed, long now) {
    int pause = Math.max(1, image.config().windowSeconds() / 8);
    boolean isSoon = now >= last && now < last + pause;
    if (isSoon || of(image, needed, now).size() == 0) {
      return false;
    }
    last = now;
    return true;
  }

  /**
   * @param now Unix seconds
   */
  static Runs of(ServiceImage image, Needed needed, long now) {
    Ring ring = image.ring();
    int wait = Questions.waitSeconds(image.config());
    Runs.Builder releases = new Runs.Builder();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      History owners = ring.history(bucket);
      int free = 0;
      int owner = Backend.NONE;
      for (int i = owners.size() - 1; i >= 0; i--) {
        long since = owners.since(i);
        if (now >= since + wait && !needed.test(bucket, owners.owner(i), since)) {
          owner = owners.owner(i);
          free++;
        }
      }
      if (free > 0) {
        releases.add(bucket, 1, free == owners.size() ? Backend.NONE : owner);
      }
    }
    return releases.build();
  }
}
