// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Set;

/** A file of flows in any of the formats, read once from the beginning to the end. */
public final class FlowFile {
  private static final int BUFFER = 1 << 16;
  private static final int IPFIX_VERSION = 10;

  /** Of the format before pcapng, in microseconds and in nanoseconds. */
  private static final Set<Integer> PCAP = Set.of(0xa1b2c3d4, 0xa1b23c4d);

  private FlowFile() {}

  /**
   * Gives all flows to the sink.
   *
   * @throws BadFlowsException if the file is malformed; the sink has those before
   */
  public static void read(InputStream from, FlowRecord.Sink sink) throws IOException {
    BufferedInputStream in = new BufferedInputStream(from, BUFFER);
    in.mark(4);
    byte[] magic = in.readNBytes(4);
    in.reset();
    if (magic.length == 4 && isPcap(ByteBuffer.wrap(magic).getInt())) {
      throw BadFlowsException.at(
          0, "a file of the older format pcap", "pcapng, which 'editcap -F pcapng' makes of it");
    }
    if (magic.length == 4 && magic[0] == 0x0a && magic[1] == 0x0d && magic[2] == 0x0d) {
      new PcapngFile(new Source(in), sink).read();
    } else if (magic.length >= 2 && magic[0] == 0 && magic[1] == IPFIX_VERSION) {
      new IpfixFile(new Source(in), sink).read();
    } else {
      TextFile.read(in, sink);
    }
  }

  private static boolean isPcap(int magic) {
    return PCAP.contains(magic) || PCAP.contains(Integer.reverseBytes(magic));
  }

  /** Bytes with the offset of the next one. */
  static final class Source {
    private final DataInputStream in;
    private long offset;

    Source(InputStream in) {
      this.in = new DataInputStream(in);
    }

    long offset() {
      return offset;
    }

    /** So many bytes; an empty array at the end of the file, if that is allowed here. */
    byte[] take(int count, boolean mayEnd, String what) throws IOException {
      byte[] bytes = in.readNBytes(count);
      if (bytes.length < count && !(mayEnd && bytes.length == 0)) {
        throw BadFlowsException.at(
            offset,
            "the file ends after %d of the %d bytes of %s".formatted(bytes.length, count, what),
            "a whole file");
      }
      offset += bytes.length;
      return bytes;
    }

    void skip(long count, String what) throws IOException {
      try {
        in.skipNBytes(count);
      } catch (EOFException e) {
        throw BadFlowsException.at(offset, "the file ends within " + what, "a whole file");
      }
      offset += count;
    }
  }
}
