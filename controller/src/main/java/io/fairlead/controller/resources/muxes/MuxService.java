// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.util.Optional;
import java.util.Set;

/**
 * {@code state} is "loading", "serving" or "stale". {@code withdrawn} says why the mux does not
 * announce the service although its ring could serve. {@code refused} is the word for what it
 * refuses of the service, {@code why} the sentence. {@code arrays} is the newest generation of
 * Othello arrays that it has, those included that no generation names yet. {@code settled} is the
 * generation below which it announces the service no more, not even after a restart.
 */
public record MuxService(
    long generation,
    String state,
    Optional<String> withdrawn,
    Optional<String> refused,
    Optional<String> why,
    Optional<Long> arrays,
    Optional<Long> settled) {
  /** The word of {@code refused} for a valid service that this kind of mux can't serve. */
  public static final String UNSUPPORTED = "unsupported";

  /** The word of {@code withdrawn} of a mux that ends. */
  private static final String STOPPING = "stopping";

  /** The words of one whose ring is too old. Any other one says why it can't forward. */
  private static final Set<String> BEHIND = Set.of("behind", "settled");

  @JsonIgnore
  public boolean isUnsupported() {
    return refused.equals(Optional.of(UNSUPPORTED));
  }

  /** Whether it announces nothing from before this generation again. */
  @JsonIgnore
  public boolean keeps(long least) {
    return settled.orElse(0L) >= least;
  }

  /** Whether it has no ring, and refuses to load one. */
  @JsonIgnore
  public boolean isRefused() {
    return generation == 0 && refused.isPresent();
  }

  /** Whether it serves this generation, or a later one, and can't go back. */
  @JsonIgnore
  public boolean has(long least) {
    return generation >= least && keeps(least);
  }

  /**
   * Whether packets come to it, or may come again as soon as it is well: it has a ring, and has not
   * withdrawn the service as too far behind.
   */
  @JsonIgnore
  public boolean isServed() {
    return generation > 0 && withdrawn.filter(BEHIND::contains).isEmpty();
  }

  /** Whether it has withdrawn the service since it can't forward, with whatever ring it has. */
  @JsonIgnore
  public boolean isSick() {
    return withdrawn.filter(why -> !why.equals(STOPPING) && !BEHIND.contains(why)).isPresent();
  }

  /** Whether it takes new connections: it has not withdrawn the service in order to end. */
  @JsonIgnore
  public boolean isAnnounced() {
    return !withdrawn.equals(Optional.of(STOPPING));
  }
}
