// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.resources.plane.Refusal;

/** Which addresses a request may name, as a backend's, a VIP or a client's. */
public final class AddressRules {
  private static final String ALLOWED =
      "an IPv4 or IPv6 address of one host, such as 10.1.0.27 or 2001:db8::27";

  private AddressRules() {}

  /** A unicast address; {@code literal} may be null. */
  public static Address address(String field, String literal) {
    if (literal == null) {
      throw Refusal.invalid(field, literal, ALLOWED);
    }
    return Address.parse(literal)
        .filter(Address::isUnicast)
        .orElseThrow(() -> Refusal.invalid(field, literal, ALLOWED));
  }

  /** Checks that the service's encapsulation carries packets to the VIP. */
  public static void checkCarried(ServiceConfig config, String field, Address address) {
    if (!config.encap().carriesIpv6() && !address.isIpv4()) {
      throw Refusal.invalid(
          field, address, "an IPv4 address, as the service's encap is " + config.encap());
    }
  }

  /** Checks that packets in the service's encapsulation have room for the backend's address. */
  public static void checkReached(ServiceConfig config, String field, Address address) {
    checkCarried(config, field, address);
    if (!config.encap().reachesIpv4() && address.isIpv4()) {
      throw Refusal.invalid(
          field, address, "an IPv6 address, as the service's encap is " + config.encap());
    }
  }
}
