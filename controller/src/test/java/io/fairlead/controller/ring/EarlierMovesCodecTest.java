// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Earlier moves as bytes, and bytes that are none. */
class EarlierMovesCodecTest {
  private static Ring moved() {
    return new Story(6).through("1 2 3 4").ring();
  }

  @ParameterizedTest
  @CsvSource({"1 2", "1 2 3", "1 2 3 4", "1 2 3 4 5"})
  void areReadAsTheyWereWritten(String moves) throws Exception {
    Ring ring = new Story(6).through(moves).ring();
    Ring snapshot = DeltaCodec.decodeSnapshot(DeltaCodec.encode(ring), 1, ring.generation(), 256);
    assertThat(snapshot.earlier()).isEqualTo(EarlierMoves.NONE);
    assertThat(EarlierMovesCodec.decode(EarlierMovesCodec.encode(ring), snapshot))
        .isEqualTo(ring.earlier());
  }

  @Test
  void manyAreReadAsTheyWereWritten() throws Exception {
    Random random = new Random(1);
    EarlierMoves.Builder moves = new EarlierMoves.Builder();
    for (int bucket = 0; bucket < 256; bucket += 1 + random.nextInt(3)) {
      int before = random.nextInt(3) * 30_000;
      moves.add(bucket, 1 + random.nextInt(65535), random.nextInt(), before, random.nextInt());
    }
    Ring ring = moved().withEarlier(moves.build());
    assertThat(EarlierMovesCodec.decode(EarlierMovesCodec.encode(ring), ring))
        .isEqualTo(ring.earlier());
  }

  /** A whole frame around another body: of one entry, these are its fields. */
  private static byte[] body(int count, int bucket, int owner, int extra) {
    ByteBuffer body = Frame.allocate(20 + extra);
    body.putInt(count).putInt(bucket).putInt(5).putInt(4);
    body.putChar((char) owner).putChar((char) 2);
    return Frame.frame(new Frame.Header("FLE1", 1, moved().generation(), 0, 256), body);
  }

  private static byte[] changed(UnaryOperator<ByteBuffer> change) {
    byte[] bytes = EarlierMovesCodec.encode(moved());
    change.apply(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN));
    return bytes;
  }

  @Test
  void whatIsNotExactIsRefusedByName() throws Exception {
    assertThat(EarlierMovesCodec.decode(body(1, 255, 1, 0), moved()).owner(255, 1)).isEqualTo(2);
    record Row(byte[] bytes, String word) {}
    byte[] good = EarlierMovesCodec.encode(moved());
    for (Row row :
        new Row[] {
          new Row(new byte[31], "TRUNCATED"),
          new Row(DeltaCodec.encode(moved()), "MAGIC"),
          new Row(changed(bytes -> bytes.putInt(4, 2)), "SERVICE"),
          new Row(changed(bytes -> bytes.putInt(8, 99)), "GENERATION"),
          new Row(changed(bytes -> bytes.putInt(12, 1)), "GENERATION"),
          new Row(changed(bytes -> bytes.putInt(16, 512)), "BUCKETS"),
          new Row(changed(bytes -> bytes.putLong(20, 3)), "LENGTH"),
          new Row(changed(bytes -> bytes.putLong(20, 1 << 20)), "LENGTH"),
          new Row(changed(bytes -> bytes.putInt(28, 0)), "CHECKSUM"),
          new Row(Arrays.copyOf(good, good.length - 1), "COMPRESSION"),
          new Row(body(2, 0, 1, 0), "LENGTH"),
          new Row(body(1, 0, 1, 1), "LENGTH"),
          new Row(body(-1, 0, 1, 0), "LENGTH"),
          new Row(body(1, 256, 1, 0), "RUN"),
          new Row(body(1, -1, 1, 0), "RUN"),
          new Row(body(1, 0, 0, 0), "RUN"),
        }) {
      assertThatThrownBy(() -> EarlierMovesCodec.decode(row.bytes(), moved()))
          .as(row.word())
          .isInstanceOfSatisfying(
              RefusedException.class,
              refused -> assertThat(refused.reason().name()).isEqualTo(row.word()));
    }
  }
}
