// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What a caller may do; each role may do what those before it may, except for {@link #SERVER},
 * which stands apart.
 */
enum Role {
  /** Reads. */
  VIEWER,
  /** Changes the pools of services. */
  OPERATOR,
  /** Makes, changes and deletes services, and reads the audit records. */
  ADMIN,
  /** Reports about the addresses that its token or certificate names; no other role does. */
  SERVER;

  static Optional<Role> parse(String text) {
    return Arrays.stream(values()).filter(role -> role.toString().equals(text)).findFirst();
  }

  boolean includes(Role wanted) {
    return this == SERVER || wanted == SERVER ? this == wanted : compareTo(wanted) >= 0;
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
