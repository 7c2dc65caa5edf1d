// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The same trees and the same refusals as an ObjectMapper's. */
class JsonTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "[]",
        "[[],{},[{\"a\":[]}]]",
        "{\"a\":1,\"b\":[true,false,null],\"c\":{\"d\":\"\\u00e9\\n\"}}",
        "[0,-1,2147483647,2147483648,9223372036854775807,9223372036854775808]",
        "[0.5,-1e3,1E400]",
        "{\"a\":1,\"a\":2}",
        "\"text\"",
        "17",
        "null",
        "",
        "  ",
        "{} trailing",
      })
  void treesAreTheSame(String text) throws JsonProcessingException {
    assertThat(Json.read(text)).isEqualTo(MAPPER.readTree(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "<p>", "nul", "\"open", "]"})
  void malformedTextIsRefused(String text) {
    assertThatThrownBy(() -> MAPPER.readTree(text)).isInstanceOf(JsonProcessingException.class);
    assertThatThrownBy(() -> Json.read(text)).isInstanceOf(JsonProcessingException.class);
  }

  @Test
  void depthHasALimit() {
    assertThatThrownBy(() -> Json.read("[".repeat(5000)))
        .isInstanceOf(JsonProcessingException.class);
  }
}
