// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.core.ring.Address;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Who calls, and what it may do.
 *
 * @param name in audit records and logs
 * @param grants at least one; the caller may do what one of them allows
 * @param addresses about which a server may report; empty of other roles
 */
record Caller(String name, List<Grant> grants, Set<Address> addresses) {
  Caller {
    grants = List.copyOf(grants);
    addresses = Set.copyOf(addresses);
  }

  static Caller server(String name, Set<Address> addresses) {
    return new Caller(name, List.of(Grant.of(Role.SERVER)), addresses);
  }

  /**
   * @param service that the request is about; empty if it is about none or all
   */
  boolean may(Role wanted, Optional<String> service) {
    return grants.stream().anyMatch(grant -> grant.allows(wanted, service));
  }

  /** As {@link Grant#toString}, several separated by spaces. */
  String roles() {
    return grants.stream().map(Grant::toString).collect(Collectors.joining(" "));
  }

  /** What this caller would have to be, in place of what it is. */
  String wanting(Role wanted, Optional<String> service) {
    boolean isOfOthers = grants.stream().anyMatch(grant -> grant.role().includes(wanted));
    if (!isOfOthers) {
      return wanted.orMore();
    }
    return wanted.orMore()
        + service.map(" for the service '%s'"::formatted).orElse(" for all services");
  }
}
