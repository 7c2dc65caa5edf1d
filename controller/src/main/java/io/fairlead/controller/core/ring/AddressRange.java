// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.Optional;

/**
 * The addresses that share the first {@code bits} bits with {@code base}, whose other bits are
 * zero.
 *
 * @param bits of the 128 that an {@link Address} has, so that those of 10.99.0.0/16 are 112
 */
public record AddressRange(Address base, int bits) {
  private static final int ALL = 128;
  private static final int IPV4_OFFSET = 96;

  public AddressRange {
    if (bits < 0 || bits > ALL || !masked(base, bits).equals(base)) {
      throw new IllegalArgumentException("%s with %d bits is no range".formatted(base, bits));
    }
  }

  /** ADDRESS/LENGTH, or one address; the bits behind the length must be zero. */
  public static Optional<AddressRange> parse(String text) {
    int slash = text.indexOf('/');
    Optional<Address> base = Address.parse(slash < 0 ? text : text.substring(0, slash));
    if (base.isEmpty()) {
      return Optional.empty();
    }
    int offset = base.get().isIpv4() ? IPV4_OFFSET : 0;
    String length = slash < 0 ? Integer.toString(ALL - offset) : text.substring(slash + 1);
    if (!length.matches("0|[1-9][0-9]{0,2}") || Integer.parseInt(length) > ALL - offset) {
      return Optional.empty();
    }
    int bits = offset + Integer.parseInt(length);
    return Optional.of(base.get())
        .filter(address -> masked(address, bits).equals(address))
        .map(address -> new AddressRange(address, bits));
  }

  public boolean contains(Address address) {
    return masked(address, bits).equals(base);
  }

  /** The length as in the text. */
  public int length() {
    return base.isIpv4() ? bits - IPV4_OFFSET : bits;
  }

  private static Address masked(Address address, int bits) {
    return new Address(
        bits >= Long.SIZE ? address.high() : address.high() & mask(bits),
        bits <= Long.SIZE ? 0 : address.low() & mask(bits - Long.SIZE));
  }

  /** With the first {@code bits} of 64 set. */
  private static long mask(int bits) {
    return bits == 0 ? 0 : -1L << (Long.SIZE - bits);
  }

  /** One address without a length. */
  @Override
  public String toString() {
    return bits == ALL ? base.toString() : "%s/%d".formatted(base, length());
  }
}
