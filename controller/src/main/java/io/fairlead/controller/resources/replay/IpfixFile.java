// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import io.fairlead.controller.core.ring.Address;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Messages of an IPFIX exporter in a file (RFC 5655, RFC 7011). */
final class IpfixFile {
  private static final int VERSION = 10;
  private static final int HEAD = 16;
  private static final int TEMPLATES = 2;
  private static final int OPTION_TEMPLATES = 3;
  private static final int TEMPLATE_MIN = 256;
  private static final int TEMPLATES_MAX = 65_536;
  private static final int VARIABLE = 65_535;
  private static final int FINISHED = 3; // flowEndReason: end of flow detected
  private static final int SYN = 0x02;
  private static final int FIN_OR_RST = 0x05;
  private static final long NTP_SECONDS = 2_208_988_800L; // from 1900 to 1970

  private final FlowFile.Source in;
  private final FlowRecord.Sink sink;
  private final Map<Long, List<Field>> templates = new HashMap<>();
  private long at;

  /** Of a template; id 0 for elements that are read over. */
  private record Field(int id, int length) {}

  IpfixFile(FlowFile.Source in, FlowRecord.Sink sink) {
    this.in = in;
    this.sink = sink;
  }

  void read() throws IOException {
    at = in.offset();
    byte[] head = in.take(HEAD, true, "a message");
    while (head.length > 0) {
      ByteBuffer message = ByteBuffer.wrap(head);
      int version = Short.toUnsignedInt(message.getShort(0));
      int length = Short.toUnsignedInt(message.getShort(2));
      if (version != VERSION) {
        throw BadFlowsException.at(at, "a message has the version " + version, "10");
      }
      if (length < HEAD) {
        throw BadFlowsException.at(at, "a message has the length " + length, "16..65535");
      }
      long domain = Integer.toUnsignedLong(message.getInt(12));
      sets(domain, ByteBuffer.wrap(in.take(length - HEAD, false, "a message")));
      at = in.offset();
      head = in.take(HEAD, true, "a message");
    }
  }

  private BadFlowsException refused(int offset, String what, String allowed) {
    return BadFlowsException.at(at + HEAD + offset, what, allowed);
  }

  private void sets(long domain, ByteBuffer body) throws BadFlowsException {
    while (body.hasRemaining()) {
      int begin = body.position();
      int length = body.remaining() < 4 ? 0 : Short.toUnsignedInt(body.getShort(begin + 2));
      if (length < 4 || length > body.remaining()) {
        throw refused(
            begin,
            "a set has the length %d".formatted(length),
            "4..%d, what is left of its message".formatted(body.remaining()));
      }
      int id = Short.toUnsignedInt(body.getShort(begin));
      ByteBuffer set = body.slice(begin + 4, length - 4);
      body.position(begin + length);
      if (id == TEMPLATES) {
        templates(domain, begin + 4, set);
      } else if (id >= TEMPLATE_MIN) {
        records(domain, id, begin + 4, set);
      } else if (id != OPTION_TEMPLATES) {
        throw refused(begin, "a set has the id " + id, "2, 3, 256..65535");
      }
    }
  }

  private void templates(long domain, int begin, ByteBuffer set) throws BadFlowsException {
    while (set.remaining() >= 4) { // what is less is padding
      int from = begin + set.position();
      int id = Short.toUnsignedInt(set.getShort());
      int count = Short.toUnsignedInt(set.getShort());
      if (count == 0) {
        templates
            .keySet()
            .removeIf(key -> key >>> 16 == domain && (id == TEMPLATES || key == key(domain, id)));
        continue;
      }
      if (id < TEMPLATE_MIN) {
        throw refused(from, "a template has the id " + id, "256..65535");
      }
      List<Field> fields = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        fields.add(field(begin, set));
      }
      if (fields.stream().allMatch(field -> field.length() == 0)) {
        throw refused(from, "template %d has records of 0 bytes".formatted(id), "1 byte and more");
      }
      if (templates.size() == TEMPLATES_MAX && !templates.containsKey(key(domain, id))) {
        throw refused(from, "one more template", TEMPLATES_MAX + " at a time");
      }
      templates.put(key(domain, id), fields);
    }
  }

  private Field field(int begin, ByteBuffer set) throws BadFlowsException {
    int from = begin + set.position();
    if (set.remaining() < 4) {
      throw refused(from, "a template ends within a field", "a whole template");
    }
    int id = Short.toUnsignedInt(set.getShort());
    int length = Short.toUnsignedInt(set.getShort());
    if ((id & 0x8000) == 0) {
      return new Field(id, length);
    }
    if (set.remaining() < 4) {
      throw refused(from, "a template ends within an enterprise number", "a whole template");
    }
    set.getInt();
    return new Field(0, length);
  }

  private static long key(long domain, int id) {
    return domain << 16 | id;
  }

  private void records(long domain, int id, int begin, ByteBuffer set) throws BadFlowsException {
    List<Field> template = templates.get(key(domain, id));
    if (template == null) {
      return; // of an options template, or one that was not recorded
    }
    int least =
        template.stream().mapToInt(field -> field.length() == VARIABLE ? 1 : field.length()).sum();
    while (set.remaining() >= least) {
      record(template, begin, set);
    }
  }

  /** What a record says of a flow, as far as it is known. */
  private static final class Seen {
    private int protocol;
    private Address source;
    private Address destination;
    private int sourcePort = -1;
    private int destinationPort = -1;
    private long start = -1;
    private long end = -1;
    private long packets;
    private long bytes;
    private boolean begun = true;
    private boolean ended;
  }

  private void record(List<Field> template, int begin, ByteBuffer set) throws BadFlowsException {
    int from = begin + set.position();
    Seen seen = new Seen();
    for (Field field : template) {
      int length = length(field, begin, set);
      if (length > set.remaining()) {
        throw refused(
            from, "a record ends within element %d".formatted(field.id()), "a whole record");
      }
      byte[] value = new byte[length];
      set.get(value);
      take(seen, field.id(), value, begin + set.position() - length);
    }
    boolean isFlow =
        (seen.protocol == FlowRecord.TCP || seen.protocol == FlowRecord.UDP)
            && seen.source != null
            && seen.destination != null
            && seen.source.isIpv4() == seen.destination.isIpv4()
            && seen.sourcePort >= 0
            && seen.destinationPort >= 0;
    if (!isFlow) {
      return;
    }
    if (seen.start < 0 || seen.end < seen.start || seen.end > FlowTable.TIME_MAX) {
      throw refused(
          from,
          "a flow from %d to %d ms".formatted(seen.start, seen.end),
          "elements 150 and 151, or 152 to 157, the start not after the end; " + FlowTable.TIMES);
    }
    sink.take(
        new FlowRecord(
            seen.protocol,
            seen.source,
            seen.sourcePort,
            seen.destination,
            seen.destinationPort,
            seen.start,
            seen.end,
            seen.packets,
            seen.bytes,
            seen.begun,
            seen.ended,
            FlowRecord.NONE,
            FlowRecord.NONE));
  }

  private int length(Field field, int begin, ByteBuffer set) throws BadFlowsException {
    if (field.length() != VARIABLE) {
      return field.length();
    }
    int from = begin + set.position();
    if (!set.hasRemaining()) {
      throw refused(from, "a record ends before a length", "a whole record");
    }
    int length = Byte.toUnsignedInt(set.get());
    if (length < 255) {
      return length;
    }
    if (set.remaining() < 2) {
      throw refused(from, "a record ends within a length", "a whole record");
    }
    return Short.toUnsignedInt(set.getShort());
  }

  /** The information elements of RFC 7012 that say something of a connection. */
  private void take(Seen seen, int id, byte[] value, int from) throws BadFlowsException {
    switch (id) {
      case 1, 85 -> seen.bytes = number(id, value, from);
      case 2, 86 -> seen.packets = number(id, value, from);
      case 4 -> seen.protocol = (int) number(id, value, from);
      case 6 -> {
        long flags = number(id, value, from);
        seen.ended |= (flags & FIN_OR_RST) != 0;
        seen.begun = (flags & SYN) != 0;
      }
      case 136 -> seen.ended |= number(id, value, from) == FINISHED;
      case 7 -> seen.sourcePort = (int) number(id, value, from) & 0xffff;
      case 11 -> seen.destinationPort = (int) number(id, value, from) & 0xffff;
      case 8, 27 -> seen.source = address(id, value, from, id == 8 ? 4 : 16);
      case 12, 28 -> seen.destination = address(id, value, from, id == 12 ? 4 : 16);
      case 150 -> seen.start = seconds(id, value, from);
      case 151 -> seen.end = seconds(id, value, from);
      case 152 -> seen.start = number(id, value, from);
      case 153 -> seen.end = number(id, value, from);
      case 154, 156 -> seen.start = ntp(id, value, from);
      case 155, 157 -> seen.end = ntp(id, value, from);
      default -> {} // says nothing of that
    }
  }

  private long seconds(int id, byte[] value, int from) throws BadFlowsException {
    long seconds = number(id, value, from);
    return seconds < 0 || seconds > FlowTable.TIME_MAX ? Long.MAX_VALUE : seconds * 1000;
  }

  /** Milliseconds since 1970 of 32 bits of seconds since 1900 and 32 bits of their fraction. */
  private long ntp(int id, byte[] value, int from) throws BadFlowsException {
    if (value.length != 8) {
      throw refused(from, "element %d has %d bytes".formatted(id, value.length), "8");
    }
    ByteBuffer time = ByteBuffer.wrap(value);
    long seconds = Integer.toUnsignedLong(time.getInt()) - NTP_SECONDS;
    return seconds * 1000 + (Integer.toUnsignedLong(time.getInt()) * 1000 >>> 32);
  }

  private Address address(int id, byte[] value, int from, int length) throws BadFlowsException {
    if (value.length != length) {
      throw refused(from, "element %d has %d bytes".formatted(id, value.length), "" + length);
    }
    // all zeros would be no address, and an IPv6 one that stands for IPv4 is IPv4 here
    return Address.of(value);
  }

  private long number(int id, byte[] value, int from) throws BadFlowsException {
    if (value.length == 0 || value.length > 8) {
      throw refused(from, "element %d has %d bytes".formatted(id, value.length), "1..8");
    }
    byte[] wide = new byte[8];
    System.arraycopy(value, 0, wide, 8 - value.length, value.length);
    return ByteBuffer.wrap(wide).getLong() & Long.MAX_VALUE;
  }

  @Override
  public String toString() {
    return "IPFIX at offset %d, templates %s"
        .formatted(at, Arrays.toString(templates.keySet().toArray()));
  }
}
