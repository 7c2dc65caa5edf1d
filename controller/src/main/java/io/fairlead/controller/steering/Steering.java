// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.steering;

import io.fairlead.controller.ring.Ring;
import io.fairlead.controller.word.Affinity;
import io.fairlead.controller.word.Hash;
import java.util.List;
import java.util.Optional;

/**
 * A steering method: how a mux gets from a connection's hash to a bucket. All methods share the
 * ring, its deltas and its snapshots; what one needs besides is a blob of bytes that only its own
 * muxes read.
 */
public interface Steering {
  /** The word for it in the API and in ZooKeeper. */
  String word();

  /** The settings in {@code spec} that this method does not allow; none if it allows all. */
  List<Violation> check(Spec spec);

  /**
   * What muxes need for {@code ring} besides the ring itself, committed under the same generation
   * number; empty if they need nothing.
   *
   * @param ring of the generation that is about to be committed
   */
  Optional<byte[]> blob(Spec spec, Ring ring);

  /** The part of a service's configuration that steering depends on. */
  interface Spec {
    int buckets();

    Hash hash();

    Affinity affinity();
  }

  /** A field whose value the method does not allow, and what it allows instead. */
  record Violation(String field, Object value, String allowed) {}
}
