// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Whether a document has the shape of its schema: only fields that the schema has, objects and
 * lists only where it has them, each field once, and no more entries than it allows. It is read
 * token by token and ends at the first violation, so that no object is made of what the contract
 * rejects: 24 KB of gzip can have two million empty objects in it. What has the shape is at most
 * some objects for each byte of text; {@link Violation} checks the rest.
 */
final class JsonShape {
  /** Longer than the contract lets any text be. */
  private static final int TEXT_MAX = 3 << 20;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(StreamReadConstraints.builder().maxStringLength(TEXT_MAX).build())
          .build();

  private final Contract contract;
  private final JsonParser parser;

  /** By the schema's own map: entries of a list have one. */
  private final Map<Map<String, Object>, JsonObject> choices = new IdentityHashMap<>();

  private JsonShape(Contract contract, JsonParser parser) {
    this.contract = contract;
    this.parser = parser;
  }

  /**
   * @throws Violation.Found for the first departure
   * @throws JsonProcessingException if the document ends too early or is not JSON
   */
  static void check(Contract contract, JsonObject schema, InputStream document)
      throws JsonProcessingException {
    try (JsonParser parser = JSON.createParser(document)) {
      parser.nextToken();
      new JsonShape(contract, parser).value("", schema);
    } catch (JsonProcessingException e) {
      throw e;
    } catch (IOException e) {
      throw new IllegalStateException("reading from memory failed", e);
    }
  }

  private void value(String field, JsonObject unresolved) throws IOException {
    JsonObject schema = contract.resolve(unresolved);
    String type = schema.getString("type", "object");
    JsonToken token = parser.currentToken();
    if (token == JsonToken.START_OBJECT && type.equals("object")) {
      object(field, schema);
    } else if (token == JsonToken.START_ARRAY && type.equals("array")) {
      array(field, schema);
    } else if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
      throw refused(field, text(), schema);
    }
  }

  private void object(String field, JsonObject schema) throws IOException {
    JsonObject properties = properties(schema);
    JsonObject others =
        schema.getValue("additionalProperties") instanceof JsonObject other ? other : null;
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      String path = field.isEmpty() ? name : field + "." + name;
      parser.nextToken();
      JsonObject property = properties.getJsonObject(name, others);
      if (property == null) {
        throw new Violation.Found(
            new Violation(
                path,
                Optional.of(text()),
                "the fields " + String.join(", ", properties.fieldNames())));
      }
      value(path, property);
    }
  }

  private JsonObject properties(JsonObject schema) {
    return schema.containsKey("oneOf")
        ? choices.computeIfAbsent(schema.getMap(), map -> choices(schema))
        : schema.getJsonObject("properties", new JsonObject());
  }

  /** Those of each object that it may be. */
  private JsonObject choices(JsonObject schema) {
    JsonObject all = new JsonObject();
    for (Object each : schema.getJsonArray("oneOf", new JsonArray())) {
      JsonObject one = contract.resolve((JsonObject) each);
      for (Map.Entry<String, Object> property : one.getJsonObject("properties")) {
        all.put(property.getKey(), property.getValue());
      }
    }
    return all;
  }

  private void array(String field, JsonObject schema) throws IOException {
    int most = schema.getInteger("maxItems", Integer.MAX_VALUE);
    for (int entry = 0; parser.nextToken() != JsonToken.END_ARRAY; entry++) {
      if (entry == most) {
        throw refused(field, "more than %d entries".formatted(most), schema);
      }
      value(field + "[" + entry + "]", schema.getJsonObject("items"));
    }
  }

  /** As its sender wrote it; of what is in an object or a list nothing. */
  private String text() throws IOException {
    return switch (parser.currentToken()) {
      case START_OBJECT -> parser.nextToken() == JsonToken.END_OBJECT ? "{}" : "{...}";
      case START_ARRAY -> parser.nextToken() == JsonToken.END_ARRAY ? "[]" : "[...]";
      default -> Violation.text(parser.getText());
    };
  }

  private Violation.Found refused(String field, String value, JsonObject schema) {
    return new Violation.Found(
        new Violation(
            field.isEmpty() ? "body" : field,
            Optional.of(value),
            Violation.describe(contract, schema)));
  }
}
