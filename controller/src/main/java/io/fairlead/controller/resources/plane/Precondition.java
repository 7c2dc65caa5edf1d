// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * What must hold when a write commits, so that of two concurrent edits the second is refused.
 *
 * @param versions of the service (see {@link
 *     io.fairlead.controller.store.repository.StoredService#version}), of which one must be the
 *     current one; none asks for nothing
 * @param isAbsent only create
 */
public record Precondition(Set<String> versions, boolean isAbsent) {
  public static final Precondition NONE = new Precondition(Set.of(), false);

  /** Matches every version of a service that exists. */
  public static final String ANY_VERSION = "*";

  public Precondition {
    versions = Set.copyOf(versions);
  }

  /**
   * @param version the current one; empty if there is no such service
   * @throws Refusal if another one was asked for
   */
  public void check(Optional<String> version) {
    boolean isMet =
        versions.isEmpty()
            || version
                .filter(v -> versions.contains(v) || versions.contains(ANY_VERSION))
                .isPresent();
    if (!isMet) {
      throw new Refusal(
          Refusal.Kind.PRECONDITION,
          "If-Match",
          String.join(", ", new TreeSet<>(versions)),
          version
              .map("%s, the version of the service now"::formatted)
              .orElse("no If-Match: there is no such service"));
    }
  }

  /**
   * @param found what there is, for the sentence
   * @throws Refusal where only something new was asked for
   */
  public void checkAbsent(String found) {
    if (isAbsent) {
      throw new Refusal(
          Refusal.Kind.PRECONDITION, "If-None-Match", "*", "no If-None-Match: " + found);
    }
  }
}
