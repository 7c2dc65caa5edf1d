// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.json.schema.Draft;
import io.vertx.json.schema.JsonSchema;
import io.vertx.json.schema.JsonSchemaOptions;
import io.vertx.json.schema.OutputFormat;
import io.vertx.json.schema.Validator;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The schema of a value that is neither an object nor a list. A validator decides, which takes
 * microseconds; what plainly conforms to a schema of common keywords does not ask it, as a change
 * of every backend has a quarter of a million values.
 */
final class Leaf {
  private static final JsonSchemaOptions OPTIONS =
      new JsonSchemaOptions()
          .setDraft(Draft.DRAFT4)
          .setBaseUri("app://")
          .setOutputFormat(OutputFormat.Flag);

  private static final Set<String> NUMBERS = Set.of("type", "minimum", "maximum");
  private static final Set<String> TEXTS = Set.of("type", "minLength", "maxLength", "pattern");
  private static final Set<String> WORDS = Set.of("type", "enum");

  /** They allow and forbid nothing. */
  private static final Set<String> NOTES = Set.of("description", "example", "default", "x-allowed");

  private final Validator validator;
  private final JsonObject schema;
  private final String type;
  private final Optional<Pattern> pattern;

  Leaf(JsonObject unread) {
    schema = unread.copy();
    validator = Validator.create(JsonSchema.of(unread.copy()), OPTIONS);
    type = schema.getString("type", "");
    pattern = Optional.ofNullable(schema.getString("pattern")).map(Pattern::compile);
  }

  boolean accepts(Object value) {
    return isPlain(value) || validator.validate(value).getValid();
  }

  /** False if only the validator knows. */
  private boolean isPlain(Object value) {
    if (value instanceof Integer number && type.equals("integer") && has(NUMBERS)) {
      return number >= schema.getLong("minimum", Long.MIN_VALUE)
          && number <= schema.getLong("maximum", Long.MAX_VALUE);
    }
    if (value instanceof String text && type.equals("string") && has(TEXTS)) {
      return text.length() <= schema.getInteger("maxLength", Integer.MAX_VALUE)
          && text.codePointCount(0, text.length()) >= schema.getInteger("minLength", 0)
          && pattern.map(each -> each.matcher(text).find()).orElse(true);
    }
    return value instanceof String text
        && type.equals("string")
        && has(WORDS)
        && schema.getJsonArray("enum", new JsonArray()).contains(text);
  }

  /** Whether the schema has no other keywords. */
  private boolean has(Set<String> keywords) {
    return schema.fieldNames().stream()
        .allMatch(name -> keywords.contains(name) || NOTES.contains(name));
  }
}
