// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import java.io.ByteArrayOutputStream;
import java.util.Base64;
import java.util.BitSet;
import java.util.Locale;

/** Sets of buckets as text (protocol/README.md §11): base64 of runs, each a skip and a count. */
public final class BucketSetCodec {
  private static final int VALUE_MAX = 8_388_608;
  private static final int GROUP_BITS = 7;
  private static final int GROUP_MASK = (1 << GROUP_BITS) - 1;
  private static final int MORE = 1 << GROUP_BITS;

  /** Four groups of seven bits hold every allowed value. */
  private static final int GROUPS_MAX = 4;

  /** Why a text is refused; the reasons have the names of the protocol. */
  public enum Reason {
    BASE64,
    TRUNCATED,
    VARINT,
    COUNT,
    RING;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** A text is no set of buckets of that ring. */
  public static final class MalformedException extends Exception {
    private final Reason reason;

    MalformedException(Reason reason) {
      super(reason.toString());
      this.reason = reason;
    }

    public Reason reason() {
      return reason;
    }
  }

  private BucketSetCodec() {}

  public static String encode(BitSet buckets) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    int end = 0;
    for (int start = buckets.nextSetBit(0); start >= 0; start = buckets.nextSetBit(end)) {
      put(bytes, start - end);
      end = buckets.nextClearBit(start);
      put(bytes, end - start);
    }
    return Base64.getEncoder().encodeToString(bytes.toByteArray());
  }

  /**
   * The set that {@code text} is.
   *
   * @param buckets of the ring
   */
  public static BitSet decode(String text, int buckets) throws MalformedException {
    byte[] bytes;
    try {
      bytes = Base64.getDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      throw new MalformedException(Reason.BASE64);
    }
    // The JDK's decoder accepts text without padding and with stray last bits.
    if (!Base64.getEncoder().encodeToString(bytes).equals(text)) {
      throw new MalformedException(Reason.BASE64);
    }
    BitSet set = new BitSet(buckets);
    Reader reader = new Reader(bytes);
    int end = 0;
    while (reader.hasMore()) {
      int start = end + reader.next();
      int count = reader.next();
      if (count == 0) {
        throw new MalformedException(Reason.COUNT);
      }
      if (count > buckets - start) {
        throw new MalformedException(Reason.RING);
      }
      end = start + count;
      set.set(start, end);
    }
    return set;
  }

  private static void put(ByteArrayOutputStream bytes, int value) {
    int rest = value;
    while (rest > GROUP_MASK) {
      bytes.write(rest & GROUP_MASK | MORE);
      rest >>>= GROUP_BITS;
    }
    bytes.write(rest);
  }

  private static final class Reader {
    private final byte[] bytes;
    private int at;

    Reader(byte[] bytes) {
      this.bytes = bytes;
    }

    boolean hasMore() {
      return at < bytes.length;
    }

    int next() throws MalformedException {
      int value = 0;
      for (int group = 0; group < GROUPS_MAX; group++) {
        if (!hasMore()) {
          throw new MalformedException(Reason.TRUNCATED);
        }
        int read = bytes[at++];
        value |= (read & GROUP_MASK) << group * GROUP_BITS;
        if ((read & MORE) == 0) {
          if ((read == 0 && group > 0) || value > VALUE_MAX) {
            throw new MalformedException(Reason.VARINT);
          }
          return value;
        }
      }
      throw new MalformedException(Reason.VARINT);
    }
  }
}
