// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.words.Hash;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class WideHashTest {
  private static final String KEY = "000102030405060708090a0b0c0d0e0f";
  private static final byte[] DATA = "123456789".getBytes(StandardCharsets.US_ASCII);

  @Test
  void theLowHalfIsTheHash() {
    for (Hash hash : Hash.values()) {
      assertThat(FlowHash.wide(hash, KEY, DATA) & 0xffff_ffffL)
          .as("%s", hash)
          .isEqualTo(FlowHash.hash(hash, KEY, DATA));
    }
  }

  /** The check value of CRC-32, and its halves exchanged. */
  @Test
  void theHighHalfOfCrc32IsTheLowOneWithItsHalvesExchanged() {
    assertThat(FlowHash.wide(Hash.CRC32, KEY, DATA)).isEqualTo(0x3926_cbf4_cbf4_3926L);
  }
}
