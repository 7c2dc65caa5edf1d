// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import java.util.List;

/**
 * Who calls, as the API says it.
 *
 * @param name in audit records and logs
 * @param roles at least one; the caller may do what one of them allows
 */
public record Identity(String name, List<Holding> roles) {
  /**
   * A role.
   *
   * @param services to which it is restricted, its holder being a viewer of all else; empty for no
   *     restriction
   */
  public record Holding(String role, List<String> services) {
    private static Holding of(Grant grant) {
      return new Holding(grant.role().toString(), List.copyOf(grant.services()));
    }
  }

  static Identity of(String name, List<Grant> grants) {
    return new Identity(name, grants.stream().map(Holding::of).toList());
  }
}
