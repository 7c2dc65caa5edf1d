// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.json.schema.Draft;
import io.vertx.json.schema.JsonSchema;
import io.vertx.json.schema.JsonSchemaOptions;
import io.vertx.json.schema.OutputFormat;
import io.vertx.json.schema.OutputUnit;
import io.vertx.json.schema.Validator;
import java.util.Map;

/** The contract's schemas as validators of whole documents. */
final class Schemas {
  private static final JsonSchemaOptions OPTIONS =
      new JsonSchemaOptions()
          .setDraft(Draft.DRAFT4)
          .setBaseUri("app://")
          .setOutputFormat(OutputFormat.Basic);

  private Schemas() {}

  static void assertConforms(Contract contract, String component, Object value) {
    assertConforms(
        contract, new JsonObject().put("$ref", "#/components/schemas/" + component), value);
  }

  /** Also that {@code value} has no field that the schema does not describe. */
  static void assertConforms(Contract contract, JsonObject schema, Object value) {
    OutputUnit outcome =
        Validator.create(JsonSchema.of((JsonObject) closed(contract, schema)), OPTIONS)
            .validate(value);
    assertThat(outcome.getValid()).as("%s in %s", outcome.getErrors(), value).isTrue();
  }

  /** Without references, and with every object's unknown fields forbidden. */
  private static Object closed(Contract contract, Object node) {
    if (node instanceof JsonArray array) {
      JsonArray copy = new JsonArray();
      array.forEach(entry -> copy.add(closed(contract, entry)));
      return copy;
    }
    if (!(node instanceof JsonObject object)) {
      return node;
    }
    JsonObject resolved = contract.resolve(object);
    JsonObject copy = new JsonObject();
    for (Map.Entry<String, Object> entry : resolved) {
      if (!entry.getKey().startsWith("example") && !entry.getKey().equals("discriminator")) {
        copy.put(entry.getKey(), closed(contract, entry.getValue()));
      }
    }
    if (resolved.getValue("properties") instanceof JsonObject
        && !resolved.containsKey("additionalProperties")) {
      copy.put("additionalProperties", false);
    }
    return copy;
  }
}
