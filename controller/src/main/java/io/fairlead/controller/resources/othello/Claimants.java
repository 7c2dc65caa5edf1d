// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.steering.othello.Claims;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.function.LongToIntFunction;

/**
 * Who can have a connection: whoever owns, or owned as far as the ring names it, the bucket that
 * the newest arrays or those before give it. So a server cannot claim what belongs to another.
 *
 * @param newest gives packets their first bucket
 * @param before gives them their second one; empty once settled
 * @param prompt whether a backend's server has reported lately
 */
record Claimants(
    Ring ring, LongToIntFunction newest, Optional<LongToIntFunction> before, IntPredicate prompt)
    implements Claims.Rule {
  /**
   * Whoever says so: of arrays that only muxes still have, no controller can say what they give. It
   * lasts until they are dropped.
   */
  static final Claims.Rule ANYONE =
      new Claims.Rule() {
        @Override
        public boolean mayHave(int server, long key) {
          return true;
        }

        @Override
        public int owner(long key) {
          return 0;
        }

        @Override
        public boolean isPrompt(int server) {
          return false;
        }
      };

  @Override
  public boolean mayHave(int server, long key) {
    return hasOwned(server, newest.applyAsInt(key))
        || (before.isPresent() && hasOwned(server, before.get().applyAsInt(key)));
  }

  @Override
  public int owner(long key) {
    return ring.current(newest.applyAsInt(key));
  }

  @Override
  public boolean isPrompt(int server) {
    return prompt.test(server);
  }

  private boolean hasOwned(int server, int bucket) {
    return place(ring, bucket, server) >= 0;
  }

  /** How many owners a bucket has had since this one; -1: the ring does not name it. */
  static int place(Ring ring, int bucket, int server) {
    int index = ring.history(bucket).indexOf(server);
    return ring.current(bucket) == server ? 0 : index < 0 ? -1 : 1 + index;
  }
}
