// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.core.ring.Vectors;
import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Flow hashes of reports against the vectors. */
class ConnectionReportsTest {
  static Stream<JsonNode> hashes() {
    return Vectors.rows(Vectors.read("reports.json"), "hashes");
  }

  static Stream<JsonNode> malformed() {
    return Vectors.rows(Vectors.read("reports.json"), "malformedHashes");
  }

  private static Report.Connections report(String opened, String closed) {
    return new Report.Connections("m", "k", false, false, true, opened, closed);
  }

  @ParameterizedTest
  @MethodSource("hashes")
  void readsWhatTheVectorsSay(JsonNode row) {
    String text = row.get("text").asText();
    long[] expected =
        StreamSupport.stream(row.get("hashes").spliterator(), false)
            .mapToLong(hash -> Long.parseUnsignedLong(hash.asText(), 16))
            .toArray();
    assertThat(Changes.of("web", report(text, "")).opened()).isEqualTo(expected);
    assertThat(Changes.of("web", report("", text)).closed()).isEqualTo(expected);
  }

  @ParameterizedTest
  @MethodSource("malformed")
  void refusesWhatTheVectorsCallMalformed(JsonNode row) {
    String text = row.get("text").asText();
    assertThatThrownBy(() -> Changes.of("web", report(text, "")))
        .as(row.get("name").asText())
        .hasMessageContaining("web.opened");
    assertThatThrownBy(() -> Changes.of("web", report("", text)))
        .as(row.get("name").asText())
        .hasMessageContaining("web.closed");
  }
}
