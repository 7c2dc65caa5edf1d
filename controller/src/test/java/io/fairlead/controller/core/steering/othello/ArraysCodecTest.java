// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.ring.Frame;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.words.Hash;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Any arrays, and any that follow from them, are the same after codec; damage never yields any. */
class ArraysCodecTest {
  private static final int SERVICE = 7;

  @Property(tries = 300)
  void wholeAndPatchAreTheSameAfterwards(
      @ForAll long seed, @ForAll @IntRange(min = 8, max = 16) int bits) throws Exception {
    Random random = new Random(seed);
    OthelloArrays base = random(random, bits);
    assertThat(whole(ArraysCodec.encode(SERVICE, base), base)).isEqualTo(base);
    OthelloArrays next = changed(base, random, random.nextInt(base.cells().length + 1));
    byte[] patch = ArraysCodec.encodePatch(SERVICE, next, base);
    assertThat(ArraysCodec.decodePatch(patch, base, SERVICE, 5)).isEqualTo(next);
  }

  @Property(tries = 300)
  void anotherGenerationIsAnotherHeaderAlone(
      @ForAll long seed, @ForAll @IntRange(min = 1) int generation) {
    Random random = new Random(seed);
    OthelloArrays base = random(random, 8 + random.nextInt(9));
    OthelloArrays next = changed(base, random, 3);
    OthelloArrays other = next.withGeneration(generation);
    assertThat(Frame.withGeneration(ArraysCodec.encode(SERVICE, next), generation))
        .isEqualTo(ArraysCodec.encode(SERVICE, other));
    assertThat(Frame.withGeneration(ArraysCodec.encodePatch(SERVICE, next, base), generation))
        .isEqualTo(ArraysCodec.encodePatch(SERVICE, other, base));
  }

  @Property(tries = 500)
  void damageIsRefused(@ForAll long seed) {
    Random random = new Random(seed);
    OthelloArrays base = random(random, 8 + random.nextInt(9));
    OthelloArrays next = changed(base, random, 3);
    boolean isPatch = random.nextBoolean();
    byte[] bytes =
        isPatch ? ArraysCodec.encodePatch(SERVICE, next, base) : ArraysCodec.encode(SERVICE, next);
    byte[] damaged = bytes.clone();
    damaged[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
    try {
      OthelloArrays decoded =
          isPatch ? ArraysCodec.decodePatch(damaged, base, SERVICE, 5) : whole(damaged, next);
      assertThat(decoded).isEqualTo(next); // a bit of the frame that zstd ignores
    } catch (RefusedException e) {
      assertThat(e.reason()).isNotNull();
    }
  }

  @Test
  void aChangeOfOneCellIsASmallPatch() throws Exception {
    OthelloHash hash = OthelloHash.sized(Hash.SIPHASH, 1, 100_000);
    OthelloArrays base = new OthelloArrays(hash, 4, 12, new char[hash.cells()]);
    char[] cells = base.cells().clone();
    cells[cells.length - 1] = 0xfff;
    OthelloArrays next = new OthelloArrays(hash, 5, 12, cells);
    byte[] patch = ArraysCodec.encodePatch(SERVICE, next, base);
    assertThat(patch).hasSizeLessThan(70);
    assertThat(ArraysCodec.decodePatch(patch, base, SERVICE, 5)).isEqualTo(next);
  }

  @Test
  void aPatchNeedsTheSameSeedAndSizes() {
    OthelloArrays base =
        new OthelloArrays(new OthelloHash(Hash.SIPHASH, 1, 4, 4), 4, 8, new char[8]);
    OthelloArrays other =
        new OthelloArrays(new OthelloHash(Hash.SIPHASH, 3, 4, 4), 5, 8, new char[8]);
    assertThatThrownBy(() -> ArraysCodec.encodePatch(SERVICE, other, base))
        .hasMessage(
            "arrays of generation 5, 4 and 4 cells of 8 bits do not follow from arrays of"
                + " generation 4, 4 and 4 cells of 8 bits");
  }

  private static OthelloArrays whole(byte[] bytes, OthelloArrays like) throws RefusedException {
    return ArraysCodec.decode(
        bytes, like.hash().hash(), SERVICE, like.generation(), like.buckets());
  }

  private static OthelloArrays random(Random random, int bits) {
    boolean isCrc = random.nextBoolean();
    int na = isCrc ? 1 << random.nextInt(10) : 1 + random.nextInt(600);
    int nb = isCrc ? 1 << random.nextInt(10) : 1 + random.nextInt(600);
    OthelloHash hash =
        new OthelloHash(isCrc ? Hash.CRC32 : Hash.SIPHASH, random.nextLong() | 1, na, nb);
    char[] cells = new char[hash.cells()];
    for (int cell = 0; cell < cells.length; cell++) {
      cells[cell] = (char) random.nextInt(1 << bits);
    }
    return new OthelloArrays(hash, 4, bits, cells);
  }

  private static OthelloArrays changed(OthelloArrays base, Random random, int changes) {
    char[] cells = base.cells().clone();
    for (int i = 0; i < changes; i++) {
      cells[random.nextInt(cells.length)] = (char) random.nextInt(1 << base.bits());
    }
    return new OthelloArrays(base.hash(), 5, base.bits(), cells);
  }
}
