// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering.othello;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import com.github.luben.zstd.Zstd;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Vectors;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.core.words.Word;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every row of protocol/vectors/othello.json. */
class OthelloVectorsTest {
  private static final JsonNode VECTORS = Vectors.read("othello.json");
  private static final int HEADER = 32;

  static Stream<JsonNode> indexes() {
    return Vectors.rows(VECTORS, "indexes");
  }

  static Stream<JsonNode> codes() {
    return Vectors.rows(VECTORS, "codes");
  }

  static Stream<JsonNode> whole() {
    return Vectors.rows(VECTORS, "whole");
  }

  static Stream<JsonNode> patches() {
    return Vectors.rows(VECTORS, "patches");
  }

  static Stream<JsonNode> malformed() {
    return Vectors.rows(VECTORS, "malformed");
  }

  @ParameterizedTest
  @MethodSource
  void indexes(JsonNode row) {
    OthelloHash hash = hash(row);
    long flowHash = hex(row.get("flowHash64"));
    assertThat(hash.a(flowHash)).isEqualTo(row.get("a").asInt());
    assertThat(hash.b(flowHash)).isEqualTo(hash.na() + row.get("b").asInt());
  }

  @ParameterizedTest
  @MethodSource
  void codes(JsonNode row) {
    OthelloArrays arrays = arrays(row, row.get("cells"), row.get("buckets").asInt(), 1);
    for (JsonNode each : Vectors.rows(row, "codes").toList()) {
      assertThat(arrays.code(hex(each.get("flowHash64")))).isEqualTo(each.get("code").asInt());
    }
  }

  @ParameterizedTest
  @MethodSource
  void whole(JsonNode row) throws RefusedException {
    int service = row.get("service").asInt();
    int buckets = row.get("buckets").asInt();
    long generation = row.get("generation").asLong();
    OthelloArrays arrays = arrays(row, row.get("cells"), buckets, generation);
    byte[] bytes = Vectors.bytes(row.get("bytes"));

    assertThat(ArraysCodec.decode(bytes, arrays.hash().hash(), service, generation, buckets))
        .isEqualTo(arrays);
    byte[] encoded = ArraysCodec.encode(service, arrays);
    assertThat(body(encoded)).isEqualTo(Vectors.bytes(row.get("body")));
    assertThat(header(encoded)).isEqualTo(header(bytes));
  }

  @ParameterizedTest
  @MethodSource
  void patches(JsonNode row) throws RefusedException {
    int service = row.get("service").asInt();
    int buckets = row.get("buckets").asInt();
    long generation = row.get("generation").asLong();
    JsonNode before = row.get("arrays");
    OthelloArrays base = arrays(before, before.get("cells"), buckets, row.get("base").asLong());
    OthelloArrays result = arrays(before, row.get("result"), buckets, generation);
    byte[] bytes = Vectors.bytes(row.get("bytes"));

    assertThat(ArraysCodec.decodePatch(bytes, base, service, generation)).isEqualTo(result);
    byte[] encoded = ArraysCodec.encodePatch(service, result, base);
    assertThat(ArraysCodec.decodePatch(encoded, base, service, generation)).isEqualTo(result);
    int changed = ByteBuffer.wrap(body(encoded)).order(ByteOrder.LITTLE_ENDIAN).getInt();
    if (changed == row.get("changes").size()) { // else the row lists words that stay as they are
      assertThat(body(encoded)).isEqualTo(Vectors.bytes(row.get("body")));
      assertThat(header(encoded)).isEqualTo(header(bytes));
    }
  }

  @ParameterizedTest
  @MethodSource
  void malformed(JsonNode row) {
    JsonNode expected = VECTORS.get("malformedFor");
    int service = expected.get("service").asInt();
    int buckets = expected.get("buckets").asInt();
    byte[] bytes = Vectors.bytes(row.get("bytes"));
    Hash hash = Word.parse(Hash.class, row.get("hash").asText()).orElseThrow();
    RefusedException refused =
        catchThrowableOfType(
            RefusedException.class,
            () -> {
              if (row.get("kind").asText().equals("whole")) {
                long generation = expected.get("wholeGeneration").asLong();
                ArraysCodec.decode(bytes, hash, service, generation, buckets);
              } else {
                JsonNode before = expected.get("arrays");
                long from = expected.get("patchBase").asLong();
                OthelloArrays base = arrays(before, before.get("cells"), buckets, from);
                long generation = expected.get("patchGeneration").asLong();
                ArraysCodec.decodePatch(bytes, base, service, generation);
              }
            });
    assertThat(refused).as(row.get("name").asText()).isNotNull();
    assertThat(refused.reason().toString())
        .as(row.get("name").asText())
        .isEqualTo(row.get("error").asText());
  }

  private static OthelloHash hash(JsonNode row) {
    return new OthelloHash(
        Word.parse(Hash.class, row.get("hash").asText()).orElseThrow(),
        hex(row.get("seed")),
        row.get("na").asInt(),
        row.get("nb").asInt());
  }

  private static OthelloArrays arrays(JsonNode row, JsonNode cells, int buckets, long generation) {
    char[] values = new char[cells.size()];
    for (int cell = 0; cell < values.length; cell++) {
      values[cell] = (char) cells.get(cell).asInt();
    }
    return new OthelloArrays(hash(row), generation, Integer.numberOfTrailingZeros(buckets), values);
  }

  private static long hex(JsonNode digits) {
    return Long.parseUnsignedLong(digits.asText(), 16);
  }

  private static byte[] header(byte[] bytes) {
    return Arrays.copyOf(bytes, HEADER);
  }

  private static byte[] body(byte[] bytes) {
    byte[] packed = Arrays.copyOfRange(bytes, HEADER, bytes.length);
    return Zstd.decompress(packed, (int) Zstd.getFrameContentSize(packed));
  }
}
