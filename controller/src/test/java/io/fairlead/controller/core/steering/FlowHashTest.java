// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Vectors;
import io.fairlead.controller.core.words.Affinity;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.core.words.Word;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every row of protocol/vectors/hash.json and siphash.json. */
class FlowHashTest {
  private static final JsonNode HASH = Vectors.read("hash.json");
  private static final JsonNode SIPHASH = Vectors.read("siphash.json");

  static Stream<JsonNode> published() {
    return Vectors.rows(SIPHASH, "rows");
  }

  static Stream<JsonNode> flows() {
    return Vectors.rows(HASH, "rows");
  }

  static Stream<JsonNode> nat() {
    return Vectors.rows(HASH, "nat");
  }

  static Stream<JsonNode> crc32() {
    return Vectors.rows(HASH, "crc32");
  }

  @ParameterizedTest
  @MethodSource
  void published(JsonNode row) {
    long hash = FlowHash.sipHash(Vectors.bytes(SIPHASH.get("key")), Vectors.bytes(row.get("data")));
    assertThat(HexFormat.of().toHexDigits(hash)).isEqualTo(row.get("hash").asText());
  }

  @ParameterizedTest
  @MethodSource
  void flows(JsonNode row) {
    assertThat(key(row, row.get("sourcePort").asInt())).isEqualTo(Vectors.bytes(row.get("key")));
    long hash = hash(row, row.get("sourcePort").asInt());
    assertThat(hash).isEqualTo(row.get("flowHash").asLong());
    for (JsonNode of : row.get("buckets")) {
      long mask = of.get("buckets").asLong() - 1;
      assertThat(hash & mask).isEqualTo(of.get("bucket").asLong());
      assertThat(Long.parseUnsignedLong(row.get("flowHash64").asText(), 16) >>> 32 & mask)
          .isEqualTo(of.get("second").asLong());
    }
  }

  @ParameterizedTest
  @MethodSource
  void nat(JsonNode row) {
    int[] histogram = new int[row.get("buckets").asInt()];
    CRC32 crc = new CRC32();
    for (int port = row.get("firstSourcePort").asInt();
        port <= row.get("lastSourcePort").asInt();
        port++) {
      long hash = hash(row, port);
      histogram[(int) hash & (histogram.length - 1)]++;
      crc.update(ByteBuffer.allocate(4).putInt((int) hash).array());
    }
    assertThat(crc.getValue()).isEqualTo(row.get("flowHashesCrc32").asLong());
    for (int bucket = 0; bucket < histogram.length; bucket++) {
      assertThat(histogram[bucket]).isEqualTo(row.get("histogram").get(bucket).asInt());
    }
  }

  @ParameterizedTest
  @MethodSource
  void crc32(JsonNode row) {
    assertThat(FlowHash.hash(Hash.CRC32, "", Vectors.bytes(row.get("data"))))
        .isEqualTo(row.get("crc32").asLong());
  }

  private static byte[] key(JsonNode row, int sourcePort) {
    return FlowHash.key(
        Word.parse(Affinity.class, row.get("affinity").asText()).orElseThrow(),
        Address.parse(row.get("source").asText()).orElseThrow(),
        sourcePort,
        Address.parse(row.get("destination").asText()).orElseThrow(),
        row.get("destinationPort").asInt(),
        row.get("protocol").asInt());
  }

  private static long hash(JsonNode row, int sourcePort) {
    return FlowHash.hash(
        Word.parse(Hash.class, row.get("hash").asText()).orElseThrow(),
        row.get("hashKey").asText(),
        key(row, sourcePort));
  }
}
