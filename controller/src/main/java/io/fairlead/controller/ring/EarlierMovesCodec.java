// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import io.fairlead.controller.ring.RefusedException.Reason;
import java.nio.ByteBuffer;

/**
 * Earlier moves as bytes beside a snapshot (protocol/README.md §5), so that the next leader knows
 * them. Bytes that do not decode exactly are refused with a named reason.
 */
public final class EarlierMovesCodec {
  private static final String MAGIC = "FLE1";
  private static final int ENTRY = 16;

  private EarlierMovesCodec() {}

  /** The earlier moves of {@code ring}. */
  public static byte[] encode(Ring ring) {
    EarlierMoves moves = ring.earlier();
    ByteBuffer body = Frame.allocate(4 + (long) ENTRY * moves.size);
    body.putInt(moves.size);
    for (int i = 0; i < moves.size; i++) {
      body.putInt(moves.buckets[i]);
    }
    for (int back = 0; back < EarlierMoves.DEPTH; back++) {
      for (int i = 0; i < moves.size; i++) {
        body.putInt(moves.sinces[i * EarlierMoves.DEPTH + back]);
      }
    }
    for (int back = 0; back < EarlierMoves.DEPTH; back++) {
      for (int i = 0; i < moves.size; i++) {
        body.putChar(moves.owners[i * EarlierMoves.DEPTH + back]);
      }
    }
    return Frame.frame(header(ring), body);
  }

  /** The earlier moves in {@code bytes}, which must belong to the snapshot {@code ring}. */
  public static EarlierMoves decode(byte[] bytes, Ring ring) throws RefusedException {
    Frame.Lengths lengths = new Frame.Lengths(4, 4 + (long) ENTRY * ring.buckets());
    ByteBuffer body = Frame.unframe(bytes, header(ring), lengths);
    long n = Integer.toUnsignedLong(body.getInt());
    Frame.checkLength(body, 4 + ENTRY * n);
    int size = (int) n;
    int sincesAt = 4 + 4 * size;
    int ownersAt = sincesAt + 8 * size;
    EarlierMoves.Builder moves = new EarlierMoves.Builder();
    int last = -1;
    for (int i = 0; i < size; i++) {
      int bucket = body.getInt(4 + 4 * i);
      int owner = body.getChar(ownersAt + 2 * i);
      if (bucket <= last || bucket >= ring.buckets() || owner == Backend.NONE) {
        throw new RefusedException(
            Reason.RUN,
            "bucket %d of %d after %d, owner %d".formatted(bucket, ring.buckets(), last, owner));
      }
      last = bucket;
      moves.add(
          bucket,
          owner,
          body.getInt(sincesAt + 4 * i),
          body.getChar(ownersAt + 2 * (size + i)),
          body.getInt(sincesAt + 4 * (size + i)));
    }
    return moves.build();
  }

  private static Frame.Header header(Ring ring) {
    return new Frame.Header(MAGIC, ring.service(), ring.generation(), 0, ring.buckets());
  }
}
