// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.core.words.Word;
import java.util.Optional;

/**
 * The live TCP connections in the buckets that a write takes from a backend.
 *
 * @param backend that owned the buckets
 * @param buckets how many it gives
 * @param connections in these buckets, half-open ones included; absent if unknown
 * @param estimated whether {@code connections} is the backend's number times the share of its
 *     buckets that it gives; otherwise it gives all, and the number is that of its agent
 * @param unknown why there is no number
 * @param until Unix seconds at which those that are left break
 */
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record Leaving(
    int backend,
    int buckets,
    Optional<Long> connections,
    boolean estimated,
    Optional<String> unknown,
    Fate fate,
    long until) {
  /** What becomes of connections in buckets that move. */
  public enum Fate implements Word {
    /** Chained until the window is over. */
    CHAINED,
    /** Chained until they have ended, for {@code holdSeconds} at most. */
    HELD,
    /** The backend is dead. */
    BROKEN
  }
}
