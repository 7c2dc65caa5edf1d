// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The contract as a text: its examples are valid and everything has a description. */
class ContractTest {
  private final Contract contract = Contract.load();
  private int examples;

  @Test
  void examplesConformToTheirSchemas() {
    checkExamples(contract.document().getJsonObject("paths"));
    checkExamples(contract.document().getJsonObject("components"));
    assertThat(examples).isGreaterThan(20);
  }

  private void checkExamples(Object node) {
    if (node instanceof JsonArray array) {
      array.forEach(this::checkExamples);
      return;
    }
    if (!(node instanceof JsonObject object)) {
      return;
    }
    if (object.getValue("schema") instanceof JsonObject schema) {
      if (object.containsKey("example")) {
        check(schema, object.getValue("example"));
      }
      for (Map.Entry<String, Object> named : object.getJsonObject("examples", new JsonObject())) {
        check(schema, ((JsonObject) named.getValue()).getValue("value"));
      }
    } else if (object.containsKey("type") && object.containsKey("example")) {
      check(object, object.getValue("example"));
    }
    for (Map.Entry<String, Object> entry : object) {
      if (!entry.getKey().startsWith("example")) {
        checkExamples(entry.getValue());
      }
    }
  }

  private void check(JsonObject schema, Object example) {
    Schemas.assertConforms(contract, schema, example);
    examples++;
  }

  @Test
  void everyRequestBodyForbidsUnknownFieldsAndEveryPropertyIsDescribed() {
    for (Map.Entry<String, Object> entry :
        contract.document().getJsonObject("components").getJsonObject("schemas")) {
      JsonObject schema = (JsonObject) entry.getValue();
      assertThat(schema.getString("description")).as(entry.getKey()).isNotBlank();
      for (Map.Entry<String, Object> property :
          schema.getJsonObject("properties", new JsonObject())) {
        JsonObject resolved = contract.resolve((JsonObject) property.getValue());
        if (!property.getKey().equals("changes")) {
          assertThat(resolved.getString("description"))
              .as("%s.%s", entry.getKey(), property.getKey())
              .isNotBlank();
        }
      }
    }
    for (Map.Entry<String, Object> path : contract.document().getJsonObject("paths")) {
      for (Map.Entry<String, Object> operation : (JsonObject) path.getValue()) {
        if (operation.getValue() instanceof JsonObject model && model.containsKey("requestBody")) {
          JsonObject body =
              contract.resolve(
                  model
                      .getJsonObject("requestBody")
                      .getJsonObject("content")
                      .getJsonObject("application/json")
                      .getJsonObject("schema"));
          assertThat(body.getBoolean("additionalProperties"))
              .as(model.getString("operationId"))
              .isFalse();
        }
      }
    }
  }

  @Test
  void everyPatternSaysInWordsWhatItAllows() {
    checkPatterns(contract.document());
  }

  private void checkPatterns(Object node) {
    if (node instanceof JsonArray array) {
      array.forEach(this::checkPatterns);
    } else if (node instanceof JsonObject object) {
      if (object.getValue("pattern") instanceof String pattern) {
        assertThat(object.getString("x-allowed")).as(pattern).isNotBlank();
      }
      object.forEach(entry -> checkPatterns(entry.getValue()));
    }
  }
}
