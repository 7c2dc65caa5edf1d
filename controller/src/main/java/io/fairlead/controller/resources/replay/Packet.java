// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import io.fairlead.controller.core.ring.Address;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;

/**
 * A captured packet: as a client sent it, or in the outer headers in which a mux sends it to a
 * server. What is cut off, or is neither TCP nor UDP, is of no flow.
 */
final class Packet {
  private static final int GUE_PORT = 6080;
  private static final int IPV4_INSIDE = 4;
  private static final int IPV6_INSIDE = 41;
  private static final int ROUTING = 43;
  private static final int[] VLANS = {0x8100, 0x88a8};
  private static final int FIN = 0x01;
  private static final int SYN = 0x02;
  private static final int RST = 0x04;
  private static final int ACK = 0x10;

  private final ByteBuffer data;

  /** Where what is looked at begins. */
  private int at;

  private int protocol;
  private Address source;
  private Address destination;

  private Packet(byte[] data) {
    this.data = ByteBuffer.wrap(data);
  }

  /** The flow of the inner packet; empty if there is none to see. */
  static Optional<FlowRecord> flow(
      byte[] data, boolean isEthernet, long millis, long bytes, int bucket, int second) {
    Packet packet = new Packet(data);
    if ((isEthernet && !packet.ethernet()) || !packet.ip()) {
      return Optional.empty();
    }
    if (packet.unwrap() && !packet.ip()) {
      return Optional.empty();
    }
    boolean isTcp = packet.protocol == FlowRecord.TCP;
    if (!isTcp && packet.protocol != FlowRecord.UDP || !packet.has(isTcp ? 14 : 8)) {
      return Optional.empty();
    }
    if (packet.source.isIpv4() != packet.destination.isIpv4()) {
      return Optional.empty(); // of an IPv6 packet with one address that stands for IPv4
    }
    int flags = isTcp ? data[packet.at + 13] : 0;
    return Optional.of(
        new FlowRecord(
            packet.protocol,
            packet.source,
            packet.u16(0),
            packet.destination,
            packet.u16(2),
            millis,
            millis,
            1,
            bytes,
            (flags & (SYN | ACK)) == SYN,
            (flags & (FIN | RST)) != 0,
            bucket,
            second));
  }

  private boolean has(int count) {
    return data.limit() - at >= count;
  }

  private int u8(int offset) {
    return Byte.toUnsignedInt(data.get(at + offset));
  }

  private int u16(int offset) {
    return Short.toUnsignedInt(data.getShort(at + offset));
  }

  /** Moves to what the frame holds; false if that is not IP. */
  private boolean ethernet() {
    at = 12;
    while (has(2) && Arrays.stream(VLANS).anyMatch(type -> type == u16(0))) {
      at += 4;
    }
    boolean isIp = has(2) && (u16(0) == 0x0800 || u16(0) == 0x86dd);
    at += 2;
    return isIp;
  }

  /** Reads an IP header and moves behind it; false if there is none, or in a later fragment. */
  private boolean ip() {
    if (!has(20)) {
      return false;
    }
    return switch (u8(0) >>> 4) {
      case 4 -> ipv4();
      case 6 -> ipv6();
      default -> false;
    };
  }

  private boolean ipv4() {
    int length = (u8(0) & 15) * 4;
    boolean isFirst = (u16(6) & 0x1fff) == 0;
    protocol = u8(9);
    source = address(12, 4);
    destination = address(16, 4);
    at += length;
    return length >= 20 && has(0) && isFirst;
  }

  private boolean ipv6() {
    if (!has(40)) {
      return false;
    }
    protocol = u8(6);
    source = address(8, 16);
    destination = address(24, 16);
    at += 40;
    if (protocol == ROUTING && has(8)) {
      protocol = u8(0);
      at += (u8(1) + 1) * 8;
    }
    return has(0);
  }

  /** Moves behind a mux's outer headers, whose IP header has been read; false if it is not one. */
  private boolean unwrap() {
    if (protocol == IPV4_INSIDE || protocol == IPV6_INSIDE) {
      return true;
    }
    if (protocol != FlowRecord.UDP || !has(12) || u16(2) != GUE_PORT) {
      return false;
    }
    int inside = u8(9);
    if (u8(8) >>> 5 != 0 || inside != IPV4_INSIDE && inside != IPV6_INSIDE) {
      return false;
    }
    at += 8 + 4 + (u8(8) & 31) * 4;
    return true;
  }

  private Address address(int offset, int length) {
    byte[] bytes = new byte[length];
    data.get(at + offset, bytes);
    return Address.of(bytes);
  }
}
