// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.core.ring.Vectors;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Nodes of probes against health.json, whose first row is what the probe writes. */
class ProbeNodeTest {
  static Stream<JsonNode> nodes() {
    return Vectors.rows(Vectors.read("health.json"), "nodes");
  }

  static Stream<JsonNode> malformed() {
    return Vectors.rows(Vectors.read("health.json"), "malformed");
  }

  private static ProbeNode parse(JsonNode row) throws IOException {
    return ProbeNode.parse("mux1", row.get("node").toString().getBytes(StandardCharsets.UTF_8));
  }

  @ParameterizedTest
  @MethodSource("nodes")
  void isReadAsTheVectorsSay(JsonNode row) throws IOException {
    ProbeNode node = parse(row);
    assertThat(node.reachesAny()).isEqualTo(row.get("reaches").asBoolean());
    assertThat(node.services()).hasSameSizeAs(row.get("services"));
    for (Map.Entry<String, JsonNode> each : row.get("services").properties()) {
      ProbeNode.Service service = node.services().get(each.getKey());
      assertThat(service.up().stream()).containsExactlyElementsOf(ids(each.getValue(), "up"));
      assertThat(service.silent().stream())
          .containsExactlyElementsOf(ids(each.getValue(), "silent"));
      assertThat(service.skipped().stream())
          .containsExactlyElementsOf(ids(each.getValue(), "skipped"));
      assertThat(service.down()).hasSameSizeAs(each.getValue().get("down"));
      each.getValue()
          .get("down")
          .properties()
          .forEach(
              fault ->
                  assertThat(service.down().get(Integer.parseInt(fault.getKey())).reason())
                      .isEqualTo(fault.getValue().asText()));
    }
  }

  private static List<Integer> ids(JsonNode service, String key) {
    List<Integer> ids = new ArrayList<>();
    service.get(key).forEach(id -> ids.add(id.asInt()));
    return ids;
  }

  @ParameterizedTest
  @MethodSource("malformed")
  void malformedOnesAreRefusedByField(JsonNode row) {
    assertThatThrownBy(() -> parse(row))
        .as(row.get("name").asText())
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith(row.get("field").asText() + " ");
  }

  @Test
  void noJsonIsRefused() {
    for (String text : new String[] {"", "{", "null", "[]", "{\"format\":1", "\u0000"}) {
      assertThatThrownBy(() -> ProbeNode.parse("mux1", text.getBytes(StandardCharsets.UTF_8)))
          .as(text)
          .isInstanceOf(IOException.class);
    }
    assertThatThrownBy(() -> ProbeNode.parse("mux1", null)).isInstanceOf(IOException.class);
  }
}
