// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import io.fairlead.controller.core.ring.Address;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Flows as text: a line with the names of the columns, then a line for each flow, with commas
 * between fields. Lines that are empty or begin with # are comments.
 */
final class TextFile {
  private static final List<String> REQUIRED =
      List.of("protocol", "source", "sourcePort", "destination", "destinationPort", "start", "end");
  private static final List<String> OPTIONAL = List.of("packets", "bytes");
  private static final String COLUMNS =
      String.join(",", REQUIRED) + ", each once, and packets, bytes";
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,19}");
  private static final Pattern SECONDS = Pattern.compile("[0-9]{1,10}([.][0-9]{1,9})?");
  private static final int LINE_MAX = 4096;
  private static final String TIMES =
      "2026-11-30T20:15:00.250Z, or Unix seconds such as 1796069700.25";

  private final BufferedReader in;
  private final Map<String, Integer> columns = new HashMap<>();
  private long line;
  private String[] fields = {};

  private TextFile(InputStream in) {
    this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
  }

  static void read(InputStream in, FlowRecord.Sink sink) throws IOException {
    TextFile file = new TextFile(in);
    if (!file.next()) {
      throw new BadFlowsException(
          "line 1", "the file is empty", "pcapng, IPFIX, or text with a line of columns");
    }
    file.head();
    while (file.next()) {
      sink.take(file.flow());
    }
  }

  /** The next line that is no comment, in fields. */
  private boolean next() throws IOException {
    String text = readLine();
    while (text != null && (text.isBlank() || text.startsWith("#"))) {
      text = readLine();
    }
    if (text == null) {
      return false;
    }
    fields = text.split(",", -1);
    return true;
  }

  /** A line, of which no more than {@link #LINE_MAX} characters are kept in memory. */
  private String readLine() throws IOException {
    StringBuilder text = new StringBuilder();
    int character = in.read();
    if (character < 0) {
      return null;
    }
    line++;
    while (character >= 0 && character != '\n') {
      if (text.length() == LINE_MAX) {
        throw refused("it is too long", LINE_MAX + " characters a line, of text");
      }
      text.append((char) character);
      character = in.read();
    }
    return text.toString().strip();
  }

  private void head() throws BadFlowsException {
    for (int column = 0; column < fields.length; column++) {
      String name = fields[column].strip();
      boolean isKnown = REQUIRED.contains(name) || OPTIONAL.contains(name);
      if (!isKnown || columns.put(name, column) != null) {
        throw refused("column '%s'".formatted(shown(name)), "the columns " + COLUMNS);
      }
    }
    for (String name : REQUIRED) {
      if (!columns.containsKey(name)) {
        throw refused("column '%s' is missing".formatted(name), "the columns " + COLUMNS);
      }
    }
  }

  private FlowRecord flow() throws BadFlowsException {
    if (fields.length != columns.size()) {
      throw refused(
          "%d fields".formatted(fields.length), "%d, as the first line".formatted(columns.size()));
    }
    Address source = address("source");
    Address destination = address("destination");
    if (source.isIpv4() != destination.isIpv4()) {
      throw refused("source '%s'".formatted(source), "an address of the destination's family");
    }
    long start = time("start");
    long end = time("end");
    if (end < start) {
      throw refused("end '%s'".formatted(shown(field("end"))), "a time from start on");
    }
    return new FlowRecord(
        protocol(),
        source,
        (int) number("sourcePort", 65535),
        destination,
        (int) number("destinationPort", 65535),
        start,
        end,
        columns.containsKey("packets") ? number("packets", Long.MAX_VALUE) : 0,
        columns.containsKey("bytes") ? number("bytes", Long.MAX_VALUE) : 0,
        true,
        true,
        FlowRecord.NONE,
        FlowRecord.NONE);
  }

  private String field(String name) {
    return fields[columns.get(name)].strip();
  }

  private int protocol() throws BadFlowsException {
    return switch (field("protocol")) {
      case "tcp", "6" -> FlowRecord.TCP;
      case "udp", "17" -> FlowRecord.UDP;
      default -> throw refused("protocol", "tcp or udp", field("protocol"));
    };
  }

  private Address address(String name) throws BadFlowsException {
    Optional<Address> address = Address.parse(field(name));
    if (address.isEmpty()) {
      throw refused(name, "an IPv4 or IPv6 address", field(name));
    }
    return address.get();
  }

  private long number(String name, long most) throws BadFlowsException {
    String text = field(name);
    boolean isNumber = NUMBER.matcher(text).matches();
    BigInteger number = isNumber ? new BigInteger(text) : BigInteger.ONE.negate();
    if (!isNumber || number.compareTo(BigInteger.valueOf(most)) > 0) {
      throw refused(name, "0.." + most, text);
    }
    return number.longValueExact();
  }

  private long time(String name) throws BadFlowsException {
    String text = field(name);
    long millis = millis(text);
    if (millis < 0 || millis > FlowTable.TIME_MAX) {
      throw refused(name, TIMES + "; " + FlowTable.TIMES, text);
    }
    return millis;
  }

  /** -1 if it is no time. */
  private static long millis(String text) {
    if (SECONDS.matcher(text).matches()) {
      String[] parts = text.split("[.]");
      String fraction = parts.length > 1 ? (parts[1] + "000").substring(0, 3) : "0";
      return Long.parseLong(parts[0]) * 1000 + Long.parseLong(fraction);
    }
    try {
      return Instant.parse(text).toEpochMilli();
    } catch (DateTimeParseException | ArithmeticException e) {
      return -1;
    }
  }

  private BadFlowsException refused(String field, String allowed, String value) {
    return refused("%s '%s'".formatted(field, shown(value)), allowed);
  }

  private BadFlowsException refused(String what, String allowed) {
    return new BadFlowsException("line " + line, what, allowed);
  }

  /** A value as a message may print it: short, and without control characters. */
  private static String shown(String text) {
    char[] shown = text.substring(0, Math.min(text.length(), 60)).toCharArray();
    for (int i = 0; i < shown.length; i++) {
      shown[i] = Character.isISOControl(shown[i]) ? '?' : shown[i];
    }
    return new String(shown);
  }

  @Override
  public String toString() {
    return "line %d: %s".formatted(line, Arrays.toString(fields));
  }
}
