// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import com.github.luben.zstd.Zstd;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every row of protocol/vectors/delta.json. */
class DeltaVectorsTest {
  private static final JsonNode VECTORS = Vectors.read("delta.json");
  private static final int HEADER = 32;

  static Stream<JsonNode> apply() {
    return Vectors.rows(VECTORS, "apply");
  }

  static Stream<JsonNode> snapshots() {
    return Vectors.rows(VECTORS, "snapshots");
  }

  static Stream<JsonNode> chains() {
    return Vectors.rows(VECTORS, "chains");
  }

  static Stream<JsonNode> malformed() {
    return Vectors.rows(VECTORS, "malformed");
  }

  @ParameterizedTest
  @MethodSource
  void apply(JsonNode row) throws RefusedException {
    Ring before = Vectors.ring(row.get("image"), 0, 0);
    Delta delta = Vectors.delta(row.get("delta"), before);
    byte[] bytes = Vectors.bytes(row.get("bytes"));
    Ring after = Vectors.ring(row.get("result"), delta.committed(), delta.closedUntil());

    Delta decoded = DeltaCodec.decodeDelta(bytes, before);
    assertThat(decoded).isEqualTo(delta);
    assertThat(before.sum()).isEqualTo(Vectors.sum(row.get("delta").get("baseSum")));
    assertThat(before.apply(decoded)).isEqualTo(after);
    assertThat(before.apply(decoded).sum()).isEqualTo(Vectors.sum(row.get("result").get("sum")));
    Optional<OwnerRuns> byOwner =
        Vectors.isByOwner(row.get("delta"))
            ? Optional.of(Vectors.ownerRuns(row.get("delta")))
            : Optional.empty();
    byte[] encoded = DeltaCodec.encode(delta, before, byOwner);
    assertThat(body(encoded)).isEqualTo(Vectors.bytes(row.get("body")));
    assertThat(header(encoded)).isEqualTo(header(bytes));
  }

  @ParameterizedTest
  @MethodSource
  void snapshots(JsonNode row) throws RefusedException {
    Ring ring =
        Vectors.ring(
            row.get("image"), row.get("committed").asLong(), row.get("closedUntil").asLong());
    byte[] bytes = Vectors.bytes(row.get("bytes"));

    assertThat(DeltaCodec.decodeSnapshot(bytes, ring.service(), ring.generation(), ring.buckets()))
        .isEqualTo(ring);
    assertThat(body(DeltaCodec.encode(ring))).isEqualTo(Vectors.bytes(row.get("body")));
    assertThat(header(DeltaCodec.encode(ring))).isEqualTo(header(bytes));
  }

  @ParameterizedTest
  @MethodSource
  void chains(JsonNode row) throws RefusedException {
    JsonNode result = row.get("result");
    int service = result.get("service").asInt();
    int buckets = result.get("buckets").asInt();
    long generation = result.get("generation").asLong() - row.get("deltas").size();

    Ring ring =
        DeltaCodec.decodeSnapshot(Vectors.bytes(row.get("snapshot")), service, generation, buckets);
    for (JsonNode delta : row.get("deltas")) {
      ring = ring.apply(DeltaCodec.decodeDelta(Vectors.bytes(delta), ring));
    }
    assertThat(ring).isEqualTo(Vectors.ring(result, ring.committed(), ring.closedUntil()));
    assertThat(body(DeltaCodec.encode(ring)))
        .isEqualTo(Vectors.bytes(row.get("resultSnapshotBody")));
  }

  @ParameterizedTest
  @MethodSource
  void malformed(JsonNode row) {
    JsonNode expected = VECTORS.get("malformedFor");
    int service = expected.get("service").asInt();
    int buckets = expected.get("buckets").asInt();
    byte[] bytes = Vectors.bytes(row.get("bytes"));
    RefusedException refused =
        catchThrowableOfType(
            RefusedException.class,
            () -> {
              if (row.get("kind").asText().equals("snapshot")) {
                long generation = expected.get("snapshotGeneration").asLong();
                DeltaCodec.decodeSnapshot(bytes, service, generation, buckets);
              } else {
                Ring base = Vectors.ring(expected.get("image"), 0, 0);
                base.apply(DeltaCodec.decodeDelta(bytes, base));
              }
            });
    assertThat(refused).as(row.get("name").asText()).isNotNull();
    assertThat(refused.reason().toString()).isEqualTo(row.get("error").asText());
  }

  private static byte[] header(byte[] bytes) {
    return Arrays.copyOf(bytes, HEADER);
  }

  private static byte[] body(byte[] bytes) {
    byte[] packed = Arrays.copyOfRange(bytes, HEADER, bytes.length);
    return Zstd.decompress(packed, (int) Zstd.getFrameContentSize(packed));
  }
}
