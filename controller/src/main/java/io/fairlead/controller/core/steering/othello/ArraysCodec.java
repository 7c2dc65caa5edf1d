// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import io.fairlead.controller.core.ring.Frame;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.RefusedException.Reason;
import io.fairlead.controller.core.words.Hash;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Arrays as bytes, whole or as the words that differ from earlier ones (protocol/README.md §12).
 * Bytes that do not decode exactly are refused with a named reason and never yield arrays.
 */
public final class ArraysCodec {
  private static final String WHOLE = "FLO1";
  private static final String PATCH = "FLP1";
  private static final int WORD = 8;
  private static final int WHOLE_MIN = 16;
  private static final int PATCH_MIN = 4;
  private static final int VARINT_MAX = 4;
  private static final int GROUP = 7;

  private ArraysCodec() {}

  /** All cells. */
  public static byte[] encode(int service, OthelloArrays arrays) {
    int words = words(arrays.hash(), arrays.bits());
    ByteBuffer body = Frame.allocate(WHOLE_MIN + (long) WORD * words);
    OthelloHash hash = arrays.hash();
    body.putLong(hash.seed()).putInt(hash.na()).putInt(hash.nb());
    for (int word = 0; word < words; word++) {
      body.putLong(word(arrays, word));
    }
    return Frame.frame(header(WHOLE, service, arrays.generation(), 0, arrays.buckets()), body);
  }

  /**
   * What leads from {@code base} to {@code arrays}.
   *
   * @param base of the same seed, sizes and bits
   */
  public static byte[] encodePatch(int service, OthelloArrays arrays, OthelloArrays base) {
    if (!arrays.isLike(base)) {
      throw new IllegalArgumentException("%s do not follow from %s".formatted(arrays, base));
    }
    int[] changed = changed(arrays, base);
    int skips = 0;
    int end = 0;
    for (int word : changed) {
      skips += varintLength(word - end);
      end = word + 1;
    }
    ByteBuffer body = Frame.allocate(PATCH_MIN + skips + (long) WORD * changed.length);
    body.putInt(changed.length);
    end = 0;
    for (int word : changed) {
      putVarint(body, word - end);
      end = word + 1;
    }
    for (int word : changed) {
      body.putLong(word(arrays, word));
    }
    return Frame.frame(
        header(PATCH, service, arrays.generation(), base.generation(), arrays.buckets()), body);
  }

  /** A patch that changes nothing but the generation. */
  public static byte[] encodeNothing(int service, long generation, long base, int buckets) {
    ByteBuffer body = Frame.allocate(PATCH_MIN).putInt(0);
    return Frame.frame(header(PATCH, service, generation, base, buckets), body);
  }

  /** The arrays in {@code bytes}, which must be those of this service and generation. */
  public static OthelloArrays decode(
      byte[] bytes, Hash hash, int service, long generation, int buckets) throws RefusedException {
    int bits = Integer.numberOfTrailingZeros(buckets);
    ByteBuffer body =
        Frame.unframe(
            bytes,
            header(WHOLE, service, generation, 0, buckets),
            new Frame.Lengths(
                WHOLE_MIN + WORD, WHOLE_MIN + 2L * OthelloHash.CELLS_MAX / Byte.SIZE * bits));
    OthelloHash indexes = getHash(body, hash);
    int words = words(indexes, bits);
    Frame.checkLength(body, WHOLE_MIN + (long) WORD * words);
    char[] cells = new char[indexes.cells()];
    for (int word = 0; word < words; word++) {
      setWord(cells, bits, word, body.getLong());
    }
    return new OthelloArrays(indexes, generation, bits, cells);
  }

  /** The arrays that the patch in {@code bytes} makes of {@code base}, which is unchanged. */
  public static OthelloArrays decodePatch(
      byte[] bytes, OthelloArrays base, int service, long generation) throws RefusedException {
    int words = words(base.hash(), base.bits());
    ByteBuffer body =
        Frame.unframe(
            bytes,
            header(PATCH, service, generation, base.generation(), base.buckets()),
            new Frame.Lengths(PATCH_MIN, PATCH_MIN + (VARINT_MAX + WORD) * (long) words));
    long n = Integer.toUnsignedLong(body.getInt());
    if (body.limit() < PATCH_MIN + (1 + WORD) * n) {
      Frame.checkLength(body, -1);
    }
    int valuesAt = body.limit() - (int) n * WORD;
    int[] changed = new int[(int) n];
    long end = 0;
    for (int i = 0; i < changed.length; i++) {
      long word = end + getVarint(body, valuesAt);
      changed[i] = (int) Math.min(word, words);
      end = word + 1;
    }
    if (end > words) {
      throw new RefusedException(
          Reason.WORD, "word %d; the arrays have %d".formatted(end - 1, words));
    }
    Frame.checkLength(body, body.position() + n * WORD);
    char[] cells = base.cells().clone();
    for (int word : changed) {
      setWord(cells, base.bits(), word, body.getLong());
    }
    return new OthelloArrays(base.hash(), generation, base.bits(), cells);
  }

  private static Frame.Header header(
      String magic, int service, long generation, long base, int buckets) {
    return new Frame.Header(magic, service, generation, base, buckets);
  }

  private static OthelloHash getHash(ByteBuffer body, Hash hash) throws RefusedException {
    long seed = body.getLong();
    if (!OthelloHash.isSeed(hash, seed)) {
      throw new RefusedException(
          Reason.SEED, "%016x for %s; allowed: odd numbers".formatted(seed, hash));
    }
    int na = body.getInt();
    int nb = body.getInt();
    for (int cells : new int[] {na, nb}) {
      if (!OthelloHash.isSize(hash, Integer.toUnsignedLong(cells))) {
        throw new RefusedException(
            Reason.SIZE,
            "%s cells for %s; allowed: 1..%d%s"
                .formatted(
                    Integer.toUnsignedString(cells),
                    hash,
                    OthelloHash.CELLS_MAX,
                    hash == Hash.CRC32 ? ", powers of two" : ""));
      }
    }
    return new OthelloHash(hash, seed, na, nb);
  }

  /** How many words of 64 bits the cells take, without gaps. */
  private static int words(OthelloHash hash, int bits) {
    return (int) (((long) hash.cells() * bits + Long.SIZE - 1) / Long.SIZE);
  }

  /** That word of the cells; bits behind the last cell are 0. */
  private static long word(OthelloArrays arrays, int word) {
    char[] cells = arrays.cells();
    int bits = arrays.bits();
    long from = (long) Long.SIZE * word;
    int cell = (int) (from / bits);
    int at = (int) ((long) cell * bits - from);
    long value = 0;
    for (; at < Long.SIZE && cell < cells.length; at += bits) {
      long part = cells[cell++];
      value |= at < 0 ? part >>> -at : part << at;
    }
    return value;
  }

  /** Stores that word into the cells that have bits of it. */
  private static void setWord(char[] cells, int bits, int word, long value)
      throws RefusedException {
    long from = (long) Long.SIZE * word;
    int cell = (int) (from / bits);
    for (int at = (int) ((long) cell * bits - from); at < Long.SIZE; at += bits) {
      int low = Math.max(at, 0);
      if (cell == cells.length) {
        if (value >>> low != 0) {
          throw new RefusedException(
              Reason.PADDING, "%016x in word %d, the last one".formatted(value, word));
        }
        return;
      }
      int mask = (1 << Math.min(at + bits, Long.SIZE) - low) - 1;
      int part = (int) (value >>> low) & mask;
      int others = cells[cell] & ~(mask << low - at);
      cells[cell++] = (char) (others | part << low - at);
    }
  }

  /** The words that differ, ascending. */
  private static int[] changed(OthelloArrays arrays, OthelloArrays base) {
    char[] cells = arrays.cells();
    int[] changed = new int[64];
    int n = 0;
    int cell = 0;
    while (true) {
      int same =
          Arrays.mismatch(cells, cell, cells.length, base.cells(), cell, base.cells().length);
      if (same < 0) {
        return Arrays.copyOf(changed, n);
      }
      cell += same;
      long at = (long) cell++ * arrays.bits();
      int last = (int) ((at + arrays.bits() - 1) / Long.SIZE);
      for (int word = (int) (at / Long.SIZE); word <= last; word++) {
        if ((n > 0 && changed[n - 1] >= word) || word(arrays, word) == word(base, word)) {
          continue;
        }
        if (n == changed.length) {
          changed = Arrays.copyOf(changed, 2 * n);
        }
        changed[n++] = word;
      }
    }
  }

  private static int varintLength(int value) {
    return Math.max(1, (Integer.SIZE - Integer.numberOfLeadingZeros(value) + GROUP - 1) / GROUP);
  }

  private static void putVarint(ByteBuffer body, int value) {
    int rest = value;
    for (; rest >> GROUP != 0; rest >>= GROUP) {
      body.put((byte) (rest | 1 << GROUP));
    }
    body.put((byte) rest);
  }

  private static int getVarint(ByteBuffer body, int end) throws RefusedException {
    int value = 0;
    for (int group = 0; group < VARINT_MAX; group++) {
      Frame.checkLength(body, body.position() < end ? body.limit() : -1);
      int next = body.get();
      value |= (next & 127) << GROUP * group;
      if (next >= 0) {
        if (next == 0 && group > 0) {
          throw new RefusedException(Reason.WORD, "a skip in more bytes than necessary");
        }
        return value;
      }
    }
    throw new RefusedException(Reason.WORD, "a skip in more than 4 bytes");
  }
}
