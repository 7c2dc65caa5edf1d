// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import io.fairlead.controller.core.words.Affinity;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.core.words.Hash;
import java.util.List;

/**
 * A steering method: how a mux gets from a connection's hash to a bucket. All methods share the
 * ring, its deltas and its snapshots.
 */
public interface Steering {
  /** The word for it in the API and in ZooKeeper. */
  String word();

  /** The settings in {@code spec} that this method does not allow; none if it allows all. */
  List<Violation> check(Spec spec);

  /** Whether each connection has a second bucket, by the high half of its hash. */
  default boolean hasSecond() {
    return false;
  }

  /** The part of a service's configuration that steering depends on. */
  interface Spec {
    int buckets();

    Hash hash();

    Affinity affinity();

    Encap encap();

    int holdSeconds();

    boolean statelessUdp();

    boolean hasOnlyTcp();

    /** Whether QUIC connection ids name its backends. */
    boolean namesQuicServers();
  }

  /** A field whose value the method does not allow, and what it allows instead. */
  record Violation(String field, Object value, String allowed) {}
}
