// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Packets in pcapng (draft-ietf-opsawg-pcapng), such as samples of a mux or captures of a router's
 * port. Those of a mux have their buckets in a comment.
 */
final class PcapngFile {
  private static final int SECTION = 0x0a0d0d0a;
  private static final int INTERFACE = 1;
  private static final int SIMPLE_PACKET = 3;
  private static final int PACKET = 6;
  private static final int MAGIC = 0x1a2b3c4d;
  private static final int LENGTH_MIN = 12;
  private static final int LENGTH_MAX = 16 * 1024 * 1024;
  private static final int INTERFACES_MAX = 4096;
  private static final int OPTION_COMMENT = 1;
  private static final int OPTION_RESOLUTION = 9;
  private static final int OPTION_OFFSET = 14;
  private static final int LINK_ETHERNET = 1;
  private static final int LINK_IP = 101;
  private static final String LENGTHS =
      "a multiple of 4 in %d..%d".formatted(LENGTH_MIN, LENGTH_MAX);
  private static final Pattern BUCKET = Pattern.compile("(?:^| )bucket=([0-9]{1,7})(?: |$)");
  private static final Pattern SECOND = Pattern.compile("(?:^| )second=([0-9]{1,7})(?: |$)");

  private final FlowFile.Source in;
  private final FlowRecord.Sink sink;
  private final List<Port> ports = new ArrayList<>();
  private ByteOrder order = ByteOrder.LITTLE_ENDIAN;

  /** Of an interface: its link type, how many units a second has, and seconds to add. */
  private record Port(int link, long unitsPerSecond, long offsetSeconds) {}

  PcapngFile(FlowFile.Source in, FlowRecord.Sink sink) {
    this.in = in;
    this.sink = sink;
  }

  void read() throws IOException {
    long at = in.offset();
    byte[] head = in.take(8, true, "a block");
    while (head.length > 0) {
      block(at, head);
      at = in.offset();
      head = in.take(8, true, "a block");
    }
  }

  private void block(long at, byte[] head) throws IOException {
    boolean isSection = ByteBuffer.wrap(head).getInt() == SECTION;
    byte[] more = isSection ? in.take(4, false, "a section") : new byte[0];
    if (isSection) {
      order = order(at, ByteBuffer.wrap(more).getInt());
      ports.clear();
    }
    ByteBuffer start = ByteBuffer.wrap(head).order(order);
    int type = start.getInt();
    long length = Integer.toUnsignedLong(start.getInt());
    if (length % 4 != 0 || length < LENGTH_MIN + more.length || length > LENGTH_MAX) {
      throw BadFlowsException.at(at, "a block has the length " + length, LENGTHS);
    }
    int rest = (int) length - 8 - more.length;
    boolean isRead = type == INTERFACE || type == PACKET;
    ByteBuffer body = ByteBuffer.allocate(0);
    if (isRead) {
      body = ByteBuffer.wrap(in.take(rest, false, "a block")).order(order);
    } else {
      in.skip(rest - 4, "a block");
      body = ByteBuffer.wrap(in.take(4, false, "a block")).order(order);
    }
    long repeated = Integer.toUnsignedLong(body.getInt(body.limit() - 4));
    if (repeated != length) {
      throw BadFlowsException.at(
          at, "a block has the lengths %d and %d".formatted(length, repeated), "the same twice");
    }
    body.limit(body.limit() - 4);
    switch (type) {
      case INTERFACE -> port(at, body);
      case PACKET -> packet(at, body);
      case SIMPLE_PACKET ->
          throw BadFlowsException.at(
              at, "a simple packet block, which has no time", "enhanced packet blocks");
      default -> {} // of no use here
    }
  }

  private static ByteOrder order(long at, int magic) throws BadFlowsException {
    if (magic == MAGIC) {
      return ByteOrder.BIG_ENDIAN;
    }
    if (Integer.reverseBytes(magic) == MAGIC) {
      return ByteOrder.LITTLE_ENDIAN;
    }
    throw BadFlowsException.at(at, "the byte order is 0x%08x".formatted(magic), "0x1a2b3c4d");
  }

  private void port(long at, ByteBuffer body) throws BadFlowsException {
    check(at, body, 8, "an interface");
    if (ports.size() == INTERFACES_MAX) {
      throw BadFlowsException.at(at, "one more interface", INTERFACES_MAX + " a section");
    }
    int link = Short.toUnsignedInt(body.getShort(0));
    if (link != LINK_ETHERNET && link != LINK_IP) {
      throw BadFlowsException.at(at, "the link type is " + link, "1 (Ethernet) or 101 (IP)");
    }
    long units = 1_000_000;
    long offset = 0;
    body.position(8);
    for (ByteBuffer option = option(at, body); option != null; option = option(at, body)) {
      int code = Short.toUnsignedInt(option.getShort(0));
      if (code == OPTION_RESOLUTION && option.limit() == 5) {
        units = units(at, option.get(4));
      } else if (code == OPTION_OFFSET && option.limit() == 12) {
        offset = option.getLong(4);
      }
    }
    ports.add(new Port(link, units, offset));
  }

  private void packet(long at, ByteBuffer body) throws BadFlowsException {
    check(at, body, 20, "a packet");
    long number = Integer.toUnsignedLong(body.getInt(0));
    if (number >= ports.size()) {
      throw BadFlowsException.at(
          at, "a packet of interface " + number, "one of the %d before it".formatted(ports.size()));
    }
    Port port = ports.get((int) number);
    long captured = Integer.toUnsignedLong(body.getInt(12));
    if (captured > body.limit() - 20) {
      throw BadFlowsException.at(
          at, "%d bytes were captured".formatted(captured), "0..%d".formatted(body.limit() - 20));
    }
    byte[] data = new byte[(int) captured];
    body.position(20);
    body.get(data);
    body.position(Math.min(body.limit(), 20 + (data.length + 3 & ~3)));
    int bucket = FlowRecord.NONE;
    int second = FlowRecord.NONE;
    for (ByteBuffer option = option(at, body); option != null; option = option(at, body)) {
      if (Short.toUnsignedInt(option.getShort(0)) == OPTION_COMMENT) {
        String comment =
            new String(
                option.array(),
                option.arrayOffset() + 4,
                option.limit() - 4,
                StandardCharsets.UTF_8);
        bucket = number(BUCKET, comment, bucket);
        second = number(SECOND, comment, second);
      }
    }
    long millis = millis(at, port, body);
    Packet.flow(
            data,
            port.link() == LINK_ETHERNET,
            millis,
            Integer.toUnsignedLong(body.getInt(16)),
            bucket,
            second)
        .ifPresent(sink::take);
  }

  /** How many units of time a second has, by an interface's option. */
  private static long units(long at, byte resolution) throws BadFlowsException {
    int exponent = resolution & 0x7f;
    boolean isBinary = resolution < 0;
    if (exponent > (isBinary ? 62 : 18)) {
      throw BadFlowsException.at(
          at,
          "the resolution of times is %d to the power of -%d"
              .formatted(isBinary ? 2 : 10, exponent),
          "powers of 10 down to -18, and of 2 down to -62");
    }
    long units = 1;
    for (int i = 0; i < exponent; i++) {
      units *= isBinary ? 2 : 10;
    }
    return units;
  }

  /** A packet's time in Unix milliseconds. */
  private static long millis(long at, Port port, ByteBuffer body) throws BadFlowsException {
    long units = (long) body.getInt(4) << 32 | Integer.toUnsignedLong(body.getInt(8));
    long seconds = Long.divideUnsigned(units, port.unitsPerSecond());
    long rest = Long.remainderUnsigned(units, port.unitsPerSecond());
    boolean isNear =
        seconds >= 0 && seconds < 1L << 40 && Math.abs(port.offsetSeconds() / 2) < 1L << 40;
    long millis =
        isNear
            ? (seconds + port.offsetSeconds()) * 1000
                + (long) (rest * 1000.0 / port.unitsPerSecond())
            : -1;
    if (millis < 0 || millis > FlowTable.TIME_MAX) {
      throw BadFlowsException.at(
          at,
          "the time of a packet is %s units".formatted(Long.toUnsignedString(units)),
          FlowTable.TIMES);
    }
    return millis;
  }

  private static int number(Pattern pattern, String comment, int other) {
    Matcher found = pattern.matcher(comment);
    return found.find() ? Integer.parseInt(found.group(1)) : other;
  }

  /** The next option with its head, null after the last; the body moves on. */
  private static ByteBuffer option(long at, ByteBuffer body) throws BadFlowsException {
    if (body.remaining() < 4) {
      return null;
    }
    int code = Short.toUnsignedInt(body.getShort(body.position()));
    int length = Short.toUnsignedInt(body.getShort(body.position() + 2));
    if (code == 0) {
      return null;
    }
    if (length > body.remaining() - 4) {
      throw BadFlowsException.at(
          at,
          "option %d has %d bytes".formatted(code, length),
          "0..%d, what is left of its block".formatted(body.remaining() - 4));
    }
    byte[] option = new byte[4 + length];
    body.get(body.position(), option);
    body.position(Math.min(body.limit(), body.position() + 4 + (length + 3 & ~3)));
    return ByteBuffer.wrap(option).order(body.order());
  }

  private static void check(long at, ByteBuffer body, int least, String what)
      throws BadFlowsException {
    if (body.limit() < least) {
      throw BadFlowsException.at(
          at, "%s has %d bytes".formatted(what, body.limit()), least + " and more");
    }
  }
}
