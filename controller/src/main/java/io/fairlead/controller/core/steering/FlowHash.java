// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.words.Affinity;
import io.fairlead.controller.core.words.Hash;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.zip.CRC32;

/**
 * A flow's 32-bit hash, as every mux computes it (protocol/README.md §1): SipHash-2-4 (Aumasson and
 * Bernstein, 2012) under a service's key, or CRC-32.
 */
public final class FlowHash {
  private FlowHash() {}

  /** The bytes that are hashed; source and destination must be of one family. */
  public static byte[] key(
      Affinity affinity,
      Address source,
      int sourcePort,
      Address destination,
      int destinationPort,
      int protocol) {
    byte[] from = source.bytes();
    byte[] to = destination.bytes();
    if (from.length != to.length) {
      throw new IllegalArgumentException(
          "source %s and destination %s are of different families".formatted(source, destination));
    }
    boolean isClient = affinity == Affinity.CLIENT;
    ByteBuffer key = ByteBuffer.allocate(from.length + to.length + (isClient ? 0 : 5));
    key.put(from).put(to);
    if (!isClient) {
      key.putChar((char) sourcePort).putChar((char) destinationPort).put((byte) protocol);
    }
    return key.array();
  }

  /** The unsigned 32-bit hash of {@code key}. */
  public static long hash(Hash hash, String hexKey, byte[] key) {
    if (hash == Hash.CRC32) {
      CRC32 crc = new CRC32();
      crc.update(key);
      return crc.getValue();
    }
    return sipHash(HexFormat.of().parseHex(hexKey), key) & 0xffffffffL;
  }

  /** All 64 bits, whose low half {@link #hash} is; for methods that choose by more than that. */
  public static long wide(Hash hash, String hexKey, byte[] key) {
    if (hash == Hash.CRC32) {
      int crc = (int) hash(hash, hexKey, key);
      return (long) Integer.rotateLeft(crc, 16) << 32 | Integer.toUnsignedLong(crc);
    }
    return sipHash(HexFormat.of().parseHex(hexKey), key);
  }

  /** SipHash-2-4 of {@code data} under 16 bytes of key. */
  public static long sipHash(byte[] key, byte[] data) {
    ByteBuffer words = ByteBuffer.wrap(key).order(ByteOrder.LITTLE_ENDIAN);
    State state = new State(words.getLong(), words.getLong());
    ByteBuffer message = ByteBuffer.allocate(data.length / 8 * 8 + 8).put(data);
    message.put(message.capacity() - 1, (byte) data.length);
    message.rewind().order(ByteOrder.LITTLE_ENDIAN);
    while (message.hasRemaining()) {
      state.absorb(message.getLong());
    }
    return state.finish();
  }

  private static final class State {
    private long v0;
    private long v1;
    private long v2;
    private long v3;

    State(long k0, long k1) {
      v0 = k0 ^ 0x736f6d6570736575L;
      v1 = k1 ^ 0x646f72616e646f6dL;
      v2 = k0 ^ 0x6c7967656e657261L;
      v3 = k1 ^ 0x7465646279746573L;
    }

    void absorb(long word) {
      v3 ^= word;
      round();
      round();
      v0 ^= word;
    }

    long finish() {
      v2 ^= 0xff;
      round();
      round();
      round();
      round();
      return v0 ^ v1 ^ v2 ^ v3;
    }

    private void round() {
      v0 += v1;
      v1 = Long.rotateLeft(v1, 13) ^ v0;
      v0 = Long.rotateLeft(v0, 32);
      v2 += v3;
      v3 = Long.rotateLeft(v3, 16) ^ v2;
      v0 += v3;
      v3 = Long.rotateLeft(v3, 21) ^ v0;
      v2 += v1;
      v1 = Long.rotateLeft(v1, 17) ^ v2;
      v2 = Long.rotateLeft(v2, 32);
    }
  }
}
