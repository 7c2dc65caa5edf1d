// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.muxes;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.util.Optional;

/**
 * {@code state} is "loading", "serving" or "stale". {@code withdrawn} says why the mux does not
 * announce the service although its ring could serve. {@code refused} is the word for what it
 * refuses of the service, {@code why} the sentence. {@code arrays} is the newest generation of
 * Othello arrays that it has, those included that no generation names yet.
 */
public record MuxService(
    long generation,
    String state,
    Optional<String> withdrawn,
    Optional<String> refused,
    Optional<String> why,
    Optional<Long> arrays) {
  /** The word of {@code refused} for a valid service that this kind of mux can't serve. */
  public static final String UNSUPPORTED = "unsupported";

  @JsonIgnore
  public boolean isUnsupported() {
    return refused.equals(Optional.of(UNSUPPORTED));
  }

  /**
   * Whether packets come to it: it has a ring, and has not withdrawn the service as too far behind.
   */
  @JsonIgnore
  public boolean isServed() {
    return generation > 0 && !withdrawn.equals(Optional.of("behind"));
  }

  /** Whether it takes new connections: it has not withdrawn the service in order to end. */
  @JsonIgnore
  public boolean isAnnounced() {
    return !withdrawn.equals(Optional.of("stopping"));
  }
}
