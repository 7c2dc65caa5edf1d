// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import io.fairlead.controller.core.ring.Address;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Makes files of flows for tests, of both byte orders and with wrong parts if a test wants them.
 */
final class Capture {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteOrder order;

  Capture(ByteOrder order) {
    this.order = order;
  }

  ByteBuffer buffer(int size) {
    return ByteBuffer.allocate(size).order(order);
  }

  /** A block of pcapng with its lengths. */
  Capture block(int type, byte[] body) {
    int length = 12 + (body.length + 3 & ~3);
    ByteBuffer block = buffer(length);
    block.putInt(type).putInt(length).put(body);
    block.putInt(length - 4, length);
    out.writeBytes(block.array());
    return this;
  }

  Capture raw(byte[] bytes) {
    out.writeBytes(bytes);
    return this;
  }

  Capture section() {
    return block(
        0x0a0d0d0a,
        buffer(16).putInt(0x1a2b3c4d).putShort((short) 1).putShort((short) 0).putLong(-1).array());
  }

  /** An interface whose times have that resolution. */
  Capture port(int link, int resolution) {
    ByteBuffer body = buffer(20).putShort((short) link).putShort((short) 0).putInt(256);
    body.putShort((short) 9).putShort((short) 1).put((byte) resolution).position(16);
    return block(1, body.putInt(0).array());
  }

  Capture packet(int port, long units, byte[] data, String comment) {
    byte[] text = comment.getBytes(StandardCharsets.UTF_8);
    int padded = data.length + 3 & ~3;
    ByteBuffer body = buffer(20 + padded + 4 + (text.length + 3 & ~3) + 4);
    body.putInt(port).putInt((int) (units >>> 32)).putInt((int) units);
    body.putInt(data.length).putInt(1000).put(data);
    body.position(20 + padded);
    body.putShort((short) 1).putShort((short) text.length).put(text);
    return block(6, body.array());
  }

  byte[] bytes() {
    return out.toByteArray();
  }

  /** A client's packet, from IP on. */
  static byte[] ip(
      String source, int sourcePort, String destination, int port, int protocol, int flags) {
    byte[] from = Address.parse(source).orElseThrow().bytes();
    byte[] to = Address.parse(destination).orElseThrow().bytes();
    boolean isIpv4 = from.length == 4;
    ByteBuffer packet = ByteBuffer.allocate((isIpv4 ? 20 : 40) + 20);
    if (isIpv4) {
      packet.put((byte) 0x45).position(9);
      packet.put((byte) protocol).position(12);
    } else {
      packet.put((byte) 0x60).position(6);
      packet.put((byte) protocol).position(8);
    }
    packet.put(from).put(to).putShort((short) sourcePort).putShort((short) port);
    packet.put(packet.position() + 9, (byte) flags);
    return packet.array();
  }

  /** The packet in a mux's headers, with a list of so many candidates. */
  static byte[] gue(byte[] inner, int candidates) {
    int list = 8 + 4 * candidates;
    ByteBuffer packet = ByteBuffer.allocate(20 + 8 + 4 + list + inner.length);
    packet.put(ip("10.1.0.2", 40000, "10.1.0.21", 6080, 17, 0), 0, 28).position(28);
    packet.put((byte) (list / 4)).put((byte) ((inner[0] >>> 4 & 15) == 4 ? 4 : 41));
    packet.position(32 + list);
    return packet.put(inner).array();
  }

  static byte[] ethernet(byte[] ip, int... vlans) {
    ByteBuffer frame = ByteBuffer.allocate(14 + 4 * vlans.length + ip.length);
    frame.position(12);
    for (int vlan : vlans) {
      frame.putShort((short) vlan).putShort((short) 7);
    }
    frame.putShort((short) ((ip[0] >>> 4 & 15) == 4 ? 0x0800 : 0x86dd));
    return frame.put(ip).array();
  }

  /** A message of IPFIX with these sets. */
  static byte[] ipfix(byte[]... sets) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    for (byte[] set : sets) {
      body.writeBytes(set);
    }
    ByteBuffer message = ByteBuffer.allocate(16 + body.size());
    message.putShort((short) 10).putShort((short) message.capacity()).putInt(1_700_000_000);
    return message.putInt(0).putInt(7).put(body.toByteArray()).array();
  }

  static byte[] set(int id, byte[] body) {
    return ByteBuffer.allocate(4 + body.length)
        .putShort((short) id)
        .putShort((short) (4 + body.length))
        .put(body)
        .array();
  }

  /** A template's body: its id and pairs of element and length, or of an enterprise's number. */
  static byte[] template(int id, int... fields) {
    ByteBuffer body = ByteBuffer.allocate(4 + 2 * fields.length);
    body.position(4);
    int count = 0;
    for (int at = 0; at < fields.length; at += 2) {
      boolean isNumber = at > 0 && (fields[at - 2] & 0x8000) != 0;
      count += isNumber ? 0 : 1;
      body.putShort((short) fields[at]).putShort((short) fields[at + 1]);
    }
    return body.putShort(0, (short) id).putShort(2, (short) count).array();
  }
}
