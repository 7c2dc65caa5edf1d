// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import io.netty.util.NetUtil;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/** An IPv4 or IPv6 address as 16 bytes in network order, in two words; IPv4 is ::ffff:a.b.c.d. */
public record Address(long high, long low) {
  private static final long MAPPED = 0xffffL << 32;

  /**
   * The address that {@code literal} denotes. IPv4 must be canonical (no leading zeros); DNS is
   * never queried.
   */
  public static Optional<Address> parse(String literal) {
    boolean isIpv4 = literal.indexOf(':') < 0;
    if (literal.indexOf('%') >= 0 || literal.indexOf('[') >= 0 || literal.indexOf('/') >= 0) {
      return Optional.empty();
    }
    byte[] bytes = NetUtil.createByteArrayFromIpAddressString(literal);
    if (bytes == null || isIpv4 != (bytes.length == 4)) {
      return Optional.empty();
    }
    Address address = of(bytes);
    if (isIpv4 != address.isIpv4() || (isIpv4 && !address.toString().equals(literal))) {
      return Optional.empty();
    }
    return Optional.of(address);
  }

  /** The address of 4 or 16 bytes in network order. */
  public static Address of(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    if (bytes.length == 4) {
      return new Address(0, MAPPED | Integer.toUnsignedLong(buffer.getInt()));
    }
    if (bytes.length == 16) {
      return new Address(buffer.getLong(), buffer.getLong());
    }
    throw new IllegalArgumentException("an address has 4 or 16 bytes, not " + bytes.length);
  }

  public boolean isIpv4() {
    return high == 0 && low >>> 32 == 0xffff;
  }

  /** On the wire, all zeros mean no address. */
  public boolean isNone() {
    return high == 0 && low == 0;
  }

  /** Whether a single host can have it: not unspecified, broadcast, multicast or loopback. */
  public boolean isUnicast() {
    if (isIpv4()) {
      int first = (int) (low >>> 24) & 0xff;
      return first != 0 && first != 127 && first < 224;
    }
    boolean isLoopback = high == 0 && low == 1;
    return !isNone() && !isLoopback && high >>> 56 != 0xff;
  }

  /** 169.254.0.0/16 or fe80::/10. */
  public boolean isLinkLocal() {
    return isIpv4() ? (low >>> 16 & 0xffff) == 0xa9fe : high >>> 54 == 0x3fa;
  }

  /** 4 bytes of an IPv4 address, 16 of an IPv6 one. */
  public byte[] bytes() {
    return isIpv4()
        ? ByteBuffer.allocate(4).putInt((int) low).array()
        : ByteBuffer.allocate(16).putLong(high).putLong(low).array();
  }

  void put(ByteBuffer buffer) {
    ByteOrder order = buffer.order();
    buffer.order(ByteOrder.BIG_ENDIAN).putLong(high).putLong(low).order(order);
  }

  static Address get(ByteBuffer buffer) {
    ByteOrder order = buffer.order();
    buffer.order(ByteOrder.BIG_ENDIAN);
    Address address = new Address(buffer.getLong(), buffer.getLong());
    buffer.order(order);
    return address;
  }

  @Override
  public String toString() {
    return NetUtil.bytesToIpAddress(bytes());
  }
}
