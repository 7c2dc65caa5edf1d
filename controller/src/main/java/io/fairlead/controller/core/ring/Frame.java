// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import io.fairlead.controller.core.ring.RefusedException.Reason;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * The header and the compressed body of whatever belongs to a generation (protocol/README.md §5).
 * Bytes are refused with the word of the first check that fails.
 */
public final class Frame {
  private static final int HEADER = 32;
  private static final int GENERATION_AT = 8;
  private static final int LENGTH_AT = 20;
  private static final int CHECKSUM_AT = 28;
  private static final int ZEROS = 64 << 10;
  private static final int ZSTD_LEVEL = 3;

  private Frame() {}

  /** What a header says, in its order. */
  public record Header(String magic, int service, long generation, long base, int buckets) {}

  /** What a body may have, in bytes. */
  public record Lengths(long least, long most) {}

  /** Room for a body of that length, little-endian. */
  public static ByteBuffer allocate(long length) {
    return ByteBuffer.allocate(Math.toIntExact(length)).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** The bytes of a body that {@link #allocate} made. */
  public static byte[] frame(Header header, ByteBuffer body) {
    byte[] plain = body.array();
    byte[] packed = Zstd.compress(plain, ZSTD_LEVEL);
    ByteBuffer framed = allocate(HEADER + packed.length);
    framed.put(magic(header)).putInt(header.service()).putInt((int) header.generation());
    framed.putInt((int) header.base()).putInt(header.buckets()).putLong(plain.length);
    framed.putInt(checksum(framed.array(), ByteBuffer.wrap(plain))).put(packed);
    return framed.array();
  }

  /**
   * The same frame under another generation. A CRC is linear: it changes by that of the headers'
   * difference, so the body is neither unpacked nor needed.
   */
  public static byte[] withGeneration(byte[] framed, long generation) {
    ByteBuffer changed = ByteBuffer.wrap(framed.clone()).order(ByteOrder.LITTLE_ENDIAN);
    long length = changed.getLong(LENGTH_AT);
    byte[] none = new byte[CHECKSUM_AT];
    ByteBuffer difference = ByteBuffer.wrap(none.clone()).order(ByteOrder.LITTLE_ENDIAN);
    difference.putInt(GENERATION_AT, changed.getInt(GENERATION_AT) ^ (int) generation);
    int checksum = changed.getInt(CHECKSUM_AT);
    checksum ^= beforeZeros(difference.array(), length) ^ beforeZeros(none, length);
    return changed.putInt(GENERATION_AT, (int) generation).putInt(CHECKSUM_AT, checksum).array();
  }

  /** The checksum of the bytes with that many zeros behind them. */
  private static int beforeZeros(byte[] bytes, long length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    byte[] zeros = new byte[(int) Math.min(length, ZEROS)];
    for (long rest = length; rest > 0; rest -= zeros.length) {
      crc.update(zeros, 0, (int) Math.min(rest, zeros.length));
    }
    return (int) crc.getValue();
  }

  /** The body of {@code bytes}, whose header must be this one. */
  public static ByteBuffer unframe(byte[] bytes, Header expected, Lengths lengths)
      throws RefusedException {
    if (bytes.length < HEADER) {
      throw new RefusedException(Reason.TRUNCATED, bytes.length + " bytes, a header has 32");
    }
    ByteBuffer header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    byte[] magic = new byte[4];
    header.get(magic);
    if (!Arrays.equals(magic, magic(expected))) {
      throw new RefusedException(Reason.MAGIC, "not " + expected.magic());
    }
    expect(Reason.SERVICE, header.getInt(), expected.service());
    expect(Reason.GENERATION, Integer.toUnsignedLong(header.getInt()), expected.generation());
    expect(Reason.GENERATION, Integer.toUnsignedLong(header.getInt()), expected.base());
    int buckets = expected.buckets();
    expect(Reason.BUCKETS, Integer.toUnsignedLong(header.getInt()), buckets);
    if (!Ring.isBuckets(buckets)) {
      throw new RefusedException(Reason.BUCKETS, buckets + ", not a power of two in 256..8388608");
    }
    ByteBuffer body = unpack(bytes, header.getLong(), lengths);
    if (header.getInt() != checksum(bytes, body)) {
      throw new RefusedException(Reason.CHECKSUM, "CRC-32C differs");
    }
    return body;
  }

  private static ByteBuffer unpack(byte[] bytes, long length, Lengths lengths)
      throws RefusedException {
    if (length < lengths.least() || length > lengths.most()) {
      throw new RefusedException(
          Reason.LENGTH,
          "body of %s bytes; allowed: %d..%d"
              .formatted(Long.toUnsignedString(length), lengths.least(), lengths.most()));
    }
    ByteBuffer packed = ByteBuffer.allocateDirect(bytes.length - HEADER);
    packed.put(bytes, HEADER, bytes.length - HEADER).flip();
    ByteBuffer body = ByteBuffer.allocateDirect((int) length + 1);
    boolean isWhole = decompress(packed, body);
    if (body.position() > length || (isWhole && body.position() < length)) {
      throw new RefusedException(
          Reason.LENGTH,
          "the decompressed body does not have the %d bytes of its header".formatted(length));
    }
    if (!isWhole || packed.hasRemaining()) {
      throw new RefusedException(
          Reason.COMPRESSION,
          isWhole ? packed.remaining() + " bytes after the frame" : "the frame is cut off");
    }
    return body.flip().order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Decompresses one frame as far as {@code body} has room; returns whether its end was reached.
   */
  private static boolean decompress(ByteBuffer packed, ByteBuffer body) throws RefusedException {
    try (ZstdDecompressCtx zstd = new ZstdDecompressCtx()) {
      boolean isWhole = false;
      while (!isWhole && packed.hasRemaining() && body.hasRemaining()) {
        isWhole = zstd.decompressDirectByteBufferStream(body, packed);
      }
      return isWhole;
    } catch (ZstdException e) {
      throw new RefusedException(Reason.COMPRESSION, e.getMessage());
    }
  }

  private static void expect(Reason reason, long value, long expected) throws RefusedException {
    if (value != expected) {
      throw new RefusedException(reason, "%d, expected %d".formatted(value, expected));
    }
  }

  private static int checksum(byte[] framed, ByteBuffer body) {
    CRC32C crc = new CRC32C();
    crc.update(framed, 0, CHECKSUM_AT);
    crc.update(body.duplicate());
    return (int) crc.getValue();
  }

  /** Refuses a body that ends before {@code least}. */
  static void checkLeast(ByteBuffer body, long least) throws RefusedException {
    checkLength(body, least <= body.limit() ? body.limit() : -1);
  }

  /** Refuses a body whose counts demand another length than it has. */
  public static void checkLength(ByteBuffer body, long expected) throws RefusedException {
    if (body.limit() != expected) {
      throw new RefusedException(
          Reason.LENGTH, "the counts do not add up to a body of " + body.limit());
    }
  }

  private static byte[] magic(Header header) {
    return header.magic().getBytes(StandardCharsets.US_ASCII);
  }
}
