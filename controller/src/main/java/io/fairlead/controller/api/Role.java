// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** What a caller may do; each role may do what those before it may. */
enum Role {
  /** Reads. */
  VIEWER,
  /** Changes the pools of services. */
  OPERATOR,
  /** Makes, changes and deletes services, and reads the audit records. */
  ADMIN;

  static final String ALLOWED =
      Arrays.stream(values()).map(Role::toString).collect(Collectors.joining(", "));

  static Optional<Role> parse(String text) {
    return Arrays.stream(values()).filter(role -> role.toString().equals(text)).findFirst();
  }

  boolean includes(Role wanted) {
    return compareTo(wanted) >= 0;
  }

  /** This role and those that may do more. */
  String orMore() {
    return Arrays.stream(values())
        .filter(role -> role.includes(this))
        .map(Role::toString)
        .collect(Collectors.joining(", "));
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
