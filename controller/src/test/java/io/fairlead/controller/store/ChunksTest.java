// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class ChunksTest {
  @Property(tries = 200)
  void chunksJoinToTheBytes(
      @ForAll long seed,
      @ForAll @IntRange(max = 1000) int length,
      @ForAll @IntRange(min = 1, max = 300) int most) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    List<byte[]> chunks = Chunks.split(bytes, most);
    assertThat(chunks).hasSize((length + most - 1) / most);
    assertThat(chunks).allSatisfy(chunk -> assertThat(chunk.length).isBetween(1, most));
    assertThat(Chunks.join(chunks)).isEqualTo(bytes);
  }
}
