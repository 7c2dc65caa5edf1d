// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.json.schema.Draft;
import io.vertx.json.schema.JsonSchema;
import io.vertx.json.schema.JsonSchemaOptions;
import io.vertx.json.schema.Validator;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is taken without the validator, it would take as well, and the other way round. */
class LeafTest {
  private static final List<Object> VALUES =
      List.of(
          -1,
          0,
          1,
          100,
          65535,
          65536,
          1L << 40,
          1.0,
          1.5,
          100.0,
          true,
          false,
          "",
          "a",
          "ab",
          "abc",
          "a\n",
          "\ud83d\ude00",
          "\ud83d\ude00\ud83d\ude00",
          "add",
          "remove",
          "1",
          new JsonObject(),
          new JsonArray().add(1));

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'type': 'integer'}",
        "{'type': 'integer', 'minimum': 1, 'maximum': 65535, 'description': 'an id'}",
        "{'type': 'integer', 'minimum': 0, 'maximum': 100, 'exclusiveMaximum': true}",
        "{'type': 'integer', 'multipleOf': 50}",
        "{'type': 'number', 'minimum': 1}",
        "{'type': 'string'}",
        "{'type': 'string', 'minLength': 1, 'maxLength': 2, 'x-allowed': 'a name'}",
        "{'type': 'string', 'minLength': 2}",
        "{'type': 'string', 'pattern': '^[a-c]{1,2}$'}",
        "{'type': 'string', 'pattern': 'b', 'maxLength': 2}",
        "{'type': 'string', 'enum': ['add', 'remove'], 'default': 'add'}",
        "{'type': 'string', 'enum': ['add'], 'minLength': 4}",
        "{'type': 'string', 'pattern': 'a', 'not': {'enum': ['a']}}",
        "{'type': 'boolean'}",
      })
  void acceptsWhatTheValidatorAccepts(String text) {
    JsonObject schema = new JsonObject(text.replace('\'', '"'));
    Leaf leaf = new Leaf(schema);
    JsonSchemaOptions options = new JsonSchemaOptions().setDraft(Draft.DRAFT4).setBaseUri("app://");
    Validator validator = Validator.create(JsonSchema.of(schema.copy()), options);
    for (Object value : VALUES) {
      assertThat(leaf.accepts(value))
          .as("%s: %s", text, value)
          .isEqualTo(validator.validate(value).getValid());
    }
  }
}
