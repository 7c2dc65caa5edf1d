// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.words;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.fairlead.controller.core.steering.SteeringMethod;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each word of the program is in the contract, and the contract has no other. */
class ContractWordsTest {
  private static final JsonNode SCHEMAS = schemas();

  static Stream<Arguments> words() {
    return Stream.of(
        Arguments.of("steering", SteeringMethod.values()),
        Arguments.of("hash", Hash.values()),
        Arguments.of("affinity", Affinity.values()),
        Arguments.of("encap", Encap.values()),
        Arguments.of("assignment", AssignmentMethod.values()));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("words")
  void theContractAllowsExactlyTheWordsOfTheProgram(String field, Word[] words) {
    JsonNode schema = SCHEMAS.get("Service").get("properties").get(field);
    if (schema.has("$ref")) {
      String ref = schema.get("$ref").asText();
      schema = SCHEMAS.get(ref.substring(ref.lastIndexOf('/') + 1));
    }
    List<String> allowed = new ArrayList<>();
    schema.get("enum").forEach(word -> allowed.add(word.asText()));
    assertThat(allowed).containsExactlyElementsOf(Arrays.stream(words).map(Word::word).toList());
  }

  private static JsonNode schemas() {
    try (InputStream contract = Word.class.getResourceAsStream("/openapi.yaml")) {
      return new YAMLMapper().readTree(contract).get("components").get("schemas");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
