// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.core.ring.Vectors;
import io.fairlead.controller.resources.agents.BucketSetCodec.MalformedException;
import java.io.ByteArrayOutputStream;
import java.util.Base64;
import java.util.BitSet;
import java.util.Optional;
import java.util.Random;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The codec of sets against the vectors, and against a naive one. */
class BucketSetCodecTest {
  static Stream<JsonNode> sets() {
    return Vectors.rows(Vectors.read("reports.json"), "sets");
  }

  static Stream<JsonNode> malformed() {
    return Vectors.rows(Vectors.read("reports.json"), "malformed");
  }

  @ParameterizedTest
  @MethodSource("sets")
  void readsAndWritesWhatTheVectorsSay(JsonNode row) throws Exception {
    BitSet expected = new BitSet();
    row.get("runs")
        .forEach(run -> expected.set(run.get(0).asInt(), run.get(0).asInt() + run.get(1).asInt()));
    BitSet read = BucketSetCodec.decode(row.get("text").asText(), row.get("buckets").asInt());
    assertThat(read).as(row.get("name").asText()).isEqualTo(expected);
    assertThat(BucketSetCodec.encode(read)).isEqualTo(row.get("written").asText());
  }

  @ParameterizedTest
  @MethodSource("malformed")
  void refusesWithTheWordOfTheVectors(JsonNode row) {
    MalformedException refused =
        catchThrowableOfType(
            MalformedException.class,
            () -> BucketSetCodec.decode(row.get("text").asText(), row.get("buckets").asInt()));
    assertThat(refused).as(row.get("name").asText()).isNotNull();
    assertThat(refused.reason()).hasToString(row.get("error").asText());
  }

  @Property(tries = 300)
  void agreesWithTheNaiveWriter(
      @ForAll @IntRange(min = 8, max = 16) int bits, @ForAll double density, @ForAll long seed)
      throws Exception {
    int buckets = 1 << bits;
    Random random = new Random(seed);
    double share = Math.abs(density % 1);
    BitSet set = new BitSet();
    SortedSet<Integer> naive = new TreeSet<>();
    for (int bucket = 0; bucket < buckets; bucket++) {
      if (random.nextDouble() < share) {
        set.set(bucket);
        naive.add(bucket);
      }
    }
    String text = BucketSetCodec.encode(set);
    assertThat(text).isEqualTo(naive(naive));
    assertThat(BucketSetCodec.decode(text, buckets)).isEqualTo(set);
  }

  /** Any bytes give a set within the ring or one of the words. */
  @Property(tries = 2000)
  void readsAnyBytes(@ForAll byte[] bytes) {
    Optional<BitSet> read;
    try {
      read = Optional.of(BucketSetCodec.decode(Base64.getEncoder().encodeToString(bytes), 65536));
    } catch (MalformedException e) {
      read = Optional.empty();
    }
    assertThat(read.map(BitSet::length).orElse(0)).isLessThanOrEqualTo(65536);
  }

  private static String naive(SortedSet<Integer> buckets) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    int end = 0;
    int start = -1;
    for (int bucket = 0; bucket <= 65536; bucket++) {
      boolean isIn = buckets.contains(bucket);
      if (isIn && start < 0) {
        start = bucket;
      } else if (!isIn && start >= 0) {
        varint(bytes, start - end);
        varint(bytes, bucket - start);
        end = bucket;
        start = -1;
      }
    }
    return Base64.getEncoder().encodeToString(bytes.toByteArray());
  }

  private static void varint(ByteArrayOutputStream bytes, int value) {
    if (value >= 128) {
      bytes.write(value % 128 + 128);
      varint(bytes, value / 128);
    } else {
      bytes.write(value);
    }
  }
}
