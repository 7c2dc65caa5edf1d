// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import static io.fairlead.controller.resources.replay.Capture.ethernet;
import static io.fairlead.controller.resources.replay.Capture.gue;
import static io.fairlead.controller.resources.replay.Capture.ip;
import static io.fairlead.controller.resources.replay.Capture.ipfix;
import static io.fairlead.controller.resources.replay.Capture.set;
import static io.fairlead.controller.resources.replay.Capture.template;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.ring.Address;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of flows in all formats: what is read of them, and how malformed ones are refused. */
class FlowFileTest {
  private static final long NOW = 1_700_000_000;
  private static final int MUTATIONS = 20_000;
  private static final String COLUMNS =
      "protocol,source,sourcePort,destination,destinationPort,start,end";

  private static List<FlowRecord> read(byte[] file) throws IOException {
    List<FlowRecord> all = new ArrayList<>();
    FlowFile.read(new ByteArrayInputStream(file), all::add);
    return all;
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] client(int protocol, int flags) {
    return ip("10.2.0.11", 40001, "10.99.0.1", 80, protocol, flags);
  }

  private static FlowRecord flow(
      long millis, long bytes, boolean begun, boolean ended, int bucket, int second) {
    return new FlowRecord(
        6,
        Address.parse("10.2.0.11").orElseThrow(),
        40001,
        Address.parse("10.99.0.1").orElseThrow(),
        80,
        millis,
        millis,
        1,
        bytes,
        begun,
        ended,
        bucket,
        second);
  }

  @Test
  void textHasColumnsInAnyOrder() throws IOException {
    assertThat(
            read(
                text(
                    "# by hand\n\n"
                        + "end,start,protocol,source,sourcePort,destination,destinationPort,packets,bytes\n"
                        + "1700000001.5,2023-11-14T22:13:20Z, tcp"
                        + " ,10.2.0.11,40001,10.99.0.1,80,7,900\r\n"
                        + "1700000000,1700000000,17,2001:db8::1,0,2001:db8::2,65535,0,0")))
        .containsExactly(
            new FlowRecord(
                6,
                Address.parse("10.2.0.11").orElseThrow(),
                40001,
                Address.parse("10.99.0.1").orElseThrow(),
                80,
                NOW * 1000,
                NOW * 1000 + 1500,
                7,
                900,
                true,
                true,
                -1,
                -1),
            new FlowRecord(
                17,
                Address.parse("2001:db8::1").orElseThrow(),
                0,
                Address.parse("2001:db8::2").orElseThrow(),
                65535,
                NOW * 1000,
                NOW * 1000,
                0,
                0,
                true,
                true,
                -1,
                -1));
  }

  static Stream<Arguments> badText() {
    String good = "tcp,10.2.0.11,40001,10.99.0.1,80,1700000000,1700000001";
    return Stream.of(
        Arguments.of("", "line 1: the file is empty; allowed: pcapng, IPFIX, or text"),
        Arguments.of("# nothing\n", "the file is empty"),
        Arguments.of("PK\3\4zip", "line 1: column 'PK??zip'; allowed: the columns protocol,source"),
        Arguments.of("protocol,source\n", "line 1: column 'sourcePort' is missing; allowed: the"),
        Arguments.of(COLUMNS + ",start\n", "line 1: column 'start'; allowed: the columns"),
        Arguments.of(COLUMNS + "\n" + good + ",9\n", "line 2: 8 fields; allowed: 7, as the first"),
        Arguments.of(
            COLUMNS + "\n" + good + "\nicmp" + good.substring(3),
            "line 3: protocol 'icmp'; allowed: tcp or udp"),
        Arguments.of(
            COLUMNS + "\n" + good.replace("40001", "65536"),
            "line 2: sourcePort '65536'; allowed: 0..65535"),
        Arguments.of(
            COLUMNS + "\n" + good.replace("40001", "99999999999999999999"), "line 2: sourcePort '"),
        Arguments.of(
            COLUMNS + "\n" + good.replace("40001", "9999999999999999999"), "allowed: 0..65535"),
        Arguments.of(
            COLUMNS + "\n" + good.replace("10.2.0.11", "host"),
            "line 2: source 'host'; allowed: an IPv4 or IPv6 address"),
        Arguments.of(
            COLUMNS + "\n" + good.replace("10.2.0.11", "2001:db8::1"),
            "allowed: an address of the destination's family"),
        Arguments.of(
            COLUMNS + "\n" + good.replace("1700000001", "1600000000"),
            "line 2: end '1600000000'; allowed: a time from start on"),
        Arguments.of(
            COLUMNS + "\n" + good.replace(",1700000000,", ",-1,"),
            "line 2: start '-1'; allowed: 2026-"),
        Arguments.of(
            COLUMNS + "\n" + good.replace(",1700000000,", ",0001-01-01T00:00:00Z,"),
            "line 2: start '0001-"),
        Arguments.of(COLUMNS + "\n" + "x".repeat(5000), "line 2: it is too long; allowed: 4096"));
  }

  @ParameterizedTest
  @MethodSource("badText")
  void textThatIsMalformedIsRefusedByItsLine(String text, String message) {
    assertThatThrownBy(() -> read(text(text)))
        .isInstanceOf(BadFlowsException.class)
        .hasMessageContaining(message)
        .hasMessageContaining("; allowed: ");
  }

  static Stream<Arguments> orders() {
    return Stream.of(Arguments.of(ByteOrder.LITTLE_ENDIAN), Arguments.of(ByteOrder.BIG_ENDIAN));
  }

  @ParameterizedTest
  @MethodSource("orders")
  void pcapngHasPacketsAsClientsSentThemAndAsMuxesDo(ByteOrder order) throws IOException {
    Capture file = new Capture(order).section().port(1, 9).port(101, 0x80 | 10);
    long nanos = NOW * 1_000_000_000 + 2_000_000;
    file.packet(0, nanos, ethernet(client(6, 2)), "verdict=echo worker=0");
    file.packet(
        0,
        nanos,
        ethernet(gue(client(6, 0x11), 3)),
        "verdict=service bucket=77 backend=3 former=1 second=9 secondBackend=4");
    file.packet(0, nanos, ethernet(client(6, 4), 0x88a8, 0x8100), "");
    file.block(5, new byte[24]);
    file.packet(1, NOW << 10 | 512, gue(client(6, 0), 0), "bucket=12345678901 xbucket=3");
    assertThat(read(file.bytes()))
        .containsExactly(
            flow(NOW * 1000 + 2, 1000, true, false, -1, -1),
            flow(NOW * 1000 + 2, 1000, false, true, 77, 9),
            flow(NOW * 1000 + 2, 1000, false, true, -1, -1),
            flow(NOW * 1000 + 500, 1000, false, false, -1, -1));
  }

  @Test
  void pcapngHasIpv6InsideIpv4AndSkipsWhatIsNoFlow() throws IOException {
    byte[] six = ip("2001:db8::1", 5, "2001:db8::2", 6, 17, 0);
    Capture file = new Capture(ByteOrder.LITTLE_ENDIAN).section().port(1, 6);
    file.packet(0, NOW * 1_000_000, ethernet(gue(six, 1)), "");
    byte[] fragment = client(6, 0);
    fragment[7] = 5;
    for (byte[] none :
        List.of(
            client(1, 0), fragment, Arrays.copyOf(client(6, 0), 30), new byte[0], new byte[60])) {
      file.packet(0, NOW * 1_000_000, none.length == 0 ? none : ethernet(none), "");
    }
    file.packet(0, NOW * 1_000_000, Arrays.copyOf(ethernet(gue(client(6, 0), 6)), 60), "");
    assertThat(read(file.bytes()))
        .hasSize(1)
        .allMatch(flow -> flow.protocol() == 17 && flow.sourcePort() == 5);
  }

  static Stream<Arguments> badPcapng() {
    byte[] head = new Capture(ByteOrder.LITTLE_ENDIAN).section().bytes();
    byte[] both = new Capture(ByteOrder.LITTLE_ENDIAN).section().port(1, 9).bytes();
    byte[] packet =
        new Capture(ByteOrder.LITTLE_ENDIAN)
            .section()
            .port(1, 9)
            .packet(0, NOW * 1_000_000_000, ethernet(client(6, 0)), "bucket=1")
            .bytes();
    return Stream.of(
        Arguments.of(
            Arrays.copyOf(head, 5),
            "offset 0: the file ends after 5 of the 8 bytes of a block; allowed: a whole file"),
        Arguments.of(
            Arrays.copyOf(packet, packet.length - 1),
            "offset %d: the file ends after".formatted(both.length + 8)),
        Arguments.of(
            with(head, 8, 0x11223344),
            "offset 0: the byte order is 0x44332211; allowed: 0x1a2b3c4d"),
        Arguments.of(
            with(head, 4, 30),
            "offset 0: a block has the length 30; allowed: a multiple of 4 in 12..16777216"),
        Arguments.of(with(head, 4, 0x7ffffffc), "a block has the length 2147483644"),
        Arguments.of(
            with(both, both.length - 4, 36),
            "offset 28: a block has the lengths 32 and 36; allowed: the same twice"),
        Arguments.of(
            with(both, 36, 113),
            "offset 28: the link type is 113; allowed: 1 (Ethernet) or 101 (IP)"),
        Arguments.of(
            with(both, 44, 0x00ff0009), "offset 28: option 9 has 255 bytes; allowed: 0..8"),
        Arguments.of(
            with(packet, both.length + 8, 1),
            "offset 60: a packet of interface 1; allowed: one of the 1 before it"),
        Arguments.of(
            with(packet, both.length + 20, 9999),
            "offset 60: 9999 bytes were captured; allowed: 0.."),
        Arguments.of(with(packet, both.length + 12, -1), "offset 60: the time of a packet is"),
        Arguments.of(
            with(packet, both.length, 3),
            "offset 60: a simple packet block, which has no time; allowed: enhanced"));
  }

  private static byte[] with(byte[] bytes, int at, int word) {
    return ByteBuffer.wrap(bytes.clone()).order(ByteOrder.LITTLE_ENDIAN).putInt(at, word).array();
  }

  @ParameterizedTest
  @MethodSource("badPcapng")
  void pcapngThatIsMalformedIsRefusedByItsOffset(byte[] file, String message) {
    assertThatThrownBy(() -> read(file))
        .isInstanceOf(BadFlowsException.class)
        .hasMessageContaining(message)
        .hasMessageContaining("; allowed: ");
  }

  /** As tcpdump writes it. */
  @ParameterizedTest
  @ValueSource(ints = {0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1})
  void theOlderFormatIsNamed(int magic) {
    byte[] file = ByteBuffer.allocate(24).putInt(magic).array();
    assertThatThrownBy(() -> read(file))
        .isInstanceOf(BadFlowsException.class)
        .hasMessageContaining("the older format pcap; allowed: pcapng");
  }

  private static byte[] exported() {
    byte[] template =
        template(
            256, 8, 4, 12, 4, 7, 2, 11, 2, 4, 1, 2, 4, 1, 8, 152, 8, 153, 8, 136, 1, 0x8001, 2, 0,
            9, 82, 65535);
    ByteBuffer record = ByteBuffer.allocate(49);
    record.put(new byte[] {10, 2, 0, 11, 10, 99, 0, 1});
    record.putShort((short) 40001).putShort((short) 80).put((byte) 6).putInt(7).putLong(900);
    record.putLong(NOW * 1000).putLong(NOW * 1000 + 5).put((byte) 3).putShort((short) 0);
    record.put((byte) 1).put((byte) 'x');
    byte[] bytes = Arrays.copyOf(record.array(), record.position() + 2); // two bytes of padding
    return ipfix(set(2, template), set(3, new byte[6]), set(999, new byte[3]), set(256, bytes));
  }

  @Test
  void ipfixHasFlowsByTheirTemplate() throws IOException {
    FlowRecord first = flow(NOW * 1000, 900, true, true, -1, -1);
    byte[] seconds =
        ipfix(
            set(2, template(300, 27, 16, 28, 16, 7, 2, 11, 2, 4, 1, 150, 4, 151, 4, 6, 1)),
            set(300, sixes()));
    byte[] withdrawn = ipfix(set(2, new byte[] {1, 44, 0, 0}), set(300, sixes()));
    byte[] file =
        ByteBuffer.allocate(exported().length + seconds.length + withdrawn.length)
            .put(exported())
            .put(seconds)
            .put(withdrawn)
            .array();
    List<FlowRecord> flows = read(file);
    assertThat(flows).hasSize(2);
    assertThat(flows.get(0))
        .isEqualTo(
            new FlowRecord(
                6,
                first.source(),
                40001,
                first.destination(),
                80,
                NOW * 1000,
                NOW * 1000 + 5,
                7,
                900,
                true,
                true,
                -1,
                -1));
    assertThat(flows.get(1).source()).hasToString("2001:db8::1");
    assertThat(flows.get(1).end()).isEqualTo((NOW + 1) * 1000);
    assertThat(flows.get(1).ended()).isFalse();
  }

  private static byte[] sixes() {
    return ByteBuffer.allocate(46)
        .put(Address.parse("2001:db8::1").orElseThrow().bytes())
        .put(Address.parse("2001:db8::2").orElseThrow().bytes())
        .putShort((short) 5)
        .putShort((short) 6)
        .put((byte) 6)
        .putInt((int) NOW)
        .putInt((int) NOW + 1)
        .put((byte) 2)
        .array();
  }

  @Test
  void ipfixHasTimesOfNtp() throws IOException {
    ByteBuffer record =
        ByteBuffer.allocate(29).put(new byte[] {1, 0, 0, 1, 1, 0, 0, 2, 0, 5, 0, 6, 17});
    record
        .putInt((int) (NOW + 2_208_988_800L))
        .putInt(1 << 31)
        .putInt((int) (NOW + 2_208_988_800L))
        .putInt(-1);
    byte[] file =
        ipfix(
            set(2, template(256, 8, 4, 12, 4, 7, 2, 11, 2, 4, 1, 154, 8, 155, 8)),
            set(256, record.array()));
    assertThat(read(file))
        .allMatch(flow -> flow.start() == NOW * 1000 + 500 && flow.end() == NOW * 1000 + 999)
        .hasSize(1);
  }

  static Stream<Arguments> badIpfix() {
    byte[] good = exported();
    byte[] template = template(256, 8, 4);
    return Stream.of(
        Arguments.of(
            Arrays.copyOf(good, 7), "offset 0: the file ends after 7 of the 16 bytes of a message"),
        Arguments.of(Arrays.copyOf(good, good.length - 1), "offset 16: the file ends after"),
        Arguments.of(
            cat(good, new byte[16]),
            "offset %d: a message has the version 0; allowed: 10".formatted(good.length)),
        Arguments.of(
            cat(good, new byte[] {0, 10, 0, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
            "a message has the length 15; allowed: 16..65535"),
        Arguments.of(
            ipfix(new byte[] {0, 2, 0, 9, 0}), "offset 16: a set has the length 9; allowed: 4..5"),
        Arguments.of(ipfix(new byte[] {0, 2, 0}), "offset 16: a set has the length 0"),
        Arguments.of(
            ipfix(set(4, new byte[4])), "offset 16: a set has the id 4; allowed: 2, 3, 256..65535"),
        Arguments.of(
            ipfix(set(2, template(255, 8, 4))),
            "offset 20: a template has the id 255; allowed: 256..65535"),
        Arguments.of(
            ipfix(set(2, Arrays.copyOf(template, 6))),
            "offset 24: a template ends within a field; allowed: a whole template"),
        Arguments.of(
            ipfix(set(2, template(256, 0x8001, 4))),
            "offset 24: a template ends within an enterprise number"),
        Arguments.of(
            ipfix(set(2, template(256, 8, 0))),
            "offset 20: template 256 has records of 0 bytes; allowed: 1 byte and more"),
        Arguments.of(
            ipfix(set(2, template(256, 8, 3)), set(256, new byte[3])),
            "element 8 has 3 bytes; allowed: 4"),
        Arguments.of(
            ipfix(set(2, template(256, 1, 9)), set(256, new byte[9])),
            "element 1 has 9 bytes; allowed: 1..8"),
        Arguments.of(
            ipfix(set(2, template(256, 154, 4)), set(256, new byte[4])),
            "element 154 has 4 bytes; allowed: 8"),
        Arguments.of(
            ipfix(set(2, template(256, 82, 65535)), set(256, new byte[] {9, 1})),
            "a record ends within element 82; allowed: a whole record"),
        Arguments.of(
            ipfix(set(2, template(256, 82, 65535)), set(256, new byte[] {-1, 1})),
            "a record ends within a length"),
        Arguments.of(
            ipfix(
                set(2, template(256, 8, 4, 12, 4, 7, 2, 11, 2, 4, 1)),
                set(256, new byte[] {1, 0, 0, 1, 1, 0, 0, 2, 0, 1, 0, 1, 6})),
            "a flow from -1 to -1 ms; allowed: elements 150 and 151"));
  }

  private static byte[] cat(byte[] one, byte[] other) {
    return ByteBuffer.allocate(one.length + other.length).put(one).put(other).array();
  }

  @ParameterizedTest
  @MethodSource("badIpfix")
  void ipfixThatIsMalformedIsRefusedByItsOffset(byte[] file, String message) {
    assertThatThrownBy(() -> read(file))
        .isInstanceOf(BadFlowsException.class)
        .hasMessageContaining(message)
        .hasMessageContaining("; allowed: ");
  }

  /** Whatever bytes change, a file is read or refused: nothing else is thrown, and it ends. */
  @Test
  void damagedFilesAreReadOrRefused() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    Capture packets = new Capture(ByteOrder.LITTLE_ENDIAN).section().port(1, 9);
    packets.packet(
        0, NOW * 1_000_000_000, ethernet(gue(client(6, 0), 3), 0x8100), "bucket=7 second=9");
    packets.packet(
        0,
        NOW * 1_000_000_000,
        ethernet(gue(ip("2001:db8::1", 5, "2001:db8::2", 6, 17, 0), 1)),
        "");
    List<byte[]> files =
        List.of(
            packets.bytes(),
            exported(),
            text(
                COLUMNS
                    + "\ntcp,10.2.0.11,40001,10.99.0.1,80,1700000000.5,2023-11-14T22:13:21Z\n"));
    int refused = 0;
    for (int number = 0; number < MUTATIONS; number++) {
      byte[] file = files.get(number % files.size()).clone();
      for (int change = random.nextInt(4); change >= 0; change--) {
        file[random.nextInt(file.length)] = (byte) random.nextInt();
      }
      file = random.nextInt(8) == 0 ? Arrays.copyOf(file, random.nextInt(file.length)) : file;
      try {
        for (FlowRecord flow : read(file)) {
          assertThat(flow.start()).isBetween(0L, flow.end());
          assertThat(flow.end()).isLessThanOrEqualTo(FlowTable.TIME_MAX);
          assertThat(flow.source().isIpv4()).isEqualTo(flow.destination().isIpv4());
        }
      } catch (BadFlowsException e) {
        refused++;
      } catch (IOException | RuntimeException e) {
        throw new AssertionError("seed %d, file %d".formatted(seed, number), e);
      }
    }
    assertThat(refused).as("seed %d", seed).isBetween(MUTATIONS / 20, MUTATIONS - MUTATIONS / 20);
  }
}
