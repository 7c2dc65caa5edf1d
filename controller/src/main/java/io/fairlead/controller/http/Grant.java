// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * A role, of the whole cluster or of some services: {@code viewer}, {@code operator=web,shop}.
 *
 * @param services to which the role is restricted, its holder being a viewer of all else; empty for
 *     no restriction
 */
record Grant(Role role, SortedSet<String> services) {
  /** As people write it; without the role of agents, which stands apart. */
  static final String ALLOWED =
      "viewer, operator, admin, operator=SERVICE[,SERVICE], admin=SERVICE[,SERVICE]";

  private static final Pattern SERVICE = Pattern.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");

  Grant {
    services = Collections.unmodifiableSortedSet(new TreeSet<>(services));
  }

  static Grant of(Role role) {
    return new Grant(role, Collections.emptySortedSet());
  }

  /** Empty if {@code text} is none of {@link #ALLOWED}. */
  static Optional<Grant> parse(String text) {
    int equals = text.indexOf('=');
    Optional<Role> role =
        Role.parse(equals < 0 ? text : text.substring(0, equals))
            .filter(each -> each != Role.SERVER);
    if (equals < 0 || role.isEmpty()) {
      return role.map(Grant::of);
    }
    List<String> names = List.of(text.substring(equals + 1).split(",", -1));
    SortedSet<String> services = new TreeSet<>(names);
    return role.get() != Role.VIEWER
            && services.size() == names.size()
            && names.stream().allMatch(name -> SERVICE.matcher(name).matches())
        ? Optional.of(new Grant(role.get(), services))
        : Optional.empty();
  }

  /**
   * @param service that the request is about; empty if it is about none or all
   */
  boolean allows(Role wanted, Optional<String> service) {
    return role.includes(wanted)
        && (services.isEmpty()
            || Role.VIEWER.includes(wanted)
            || service.filter(services::contains).isPresent());
  }

  @Override
  public String toString() {
    return services.isEmpty() ? role.toString() : role + "=" + String.join(",", services);
  }
}
