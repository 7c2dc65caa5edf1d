// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Where a value departs from its schema: the path of the field, what was sent (empty when nothing
 * was) and what the schema allows, in words.
 *
 * <p>The router's validator decides whether a request is valid, except for the entries of long
 * lists (see {@link Contract#router}); its report of why names schema locations, and for a {@code
 * oneOf} every branch that did not match. This walks the value and its schema side by side instead
 * and stops at the first field, in the order sent, that the validator refuses.
 */
record Violation(String field, Optional<String> value, String allowed) {
  private static final int LONGEST_VALUE = 200;

  /** By the schema's own map: making one costs more than a thousand uses. */
  private static final Map<Map<String, Object>, Leaf> LEAVES =
      Collections.synchronizedMap(new IdentityHashMap<>());

  /** A violation as the failure of a request. */
  static final class Found extends RuntimeException {
    private final transient Violation violation;

    Found(Violation violation) {
      super(violation.field(), null, false, false);
      this.violation = violation;
    }

    Violation violation() {
      return violation;
    }
  }

  /** The first violation below {@code field}; empty when {@code value} conforms. */
  static Optional<Violation> find(
      Contract contract, String field, Object value, JsonObject unresolved) {
    JsonObject schema = contract.resolve(unresolved);
    if (schema.containsKey("oneOf") && value instanceof JsonObject object) {
      JsonObject discriminator = schema.getJsonObject("discriminator");
      JsonObject mapping = discriminator.getJsonObject("mapping");
      String name = discriminator.getString("propertyName");
      Object chosen = object.getValue(name);
      if (!(chosen instanceof String text) || !mapping.containsKey(text)) {
        return Optional.of(
            new Violation(
                join(field, name),
                object.containsKey(name) ? Optional.of(text(chosen)) : Optional.empty(),
                "one of " + String.join(", ", mapping.fieldNames())));
      }
      return find(contract, field, value, new JsonObject().put("$ref", mapping.getString(text)));
    }
    boolean conforms;
    switch (schema.getString("type", "object")) {
      case "object" -> {
        if (value instanceof JsonObject object) {
          return findInObject(contract, field, object, schema);
        }
        conforms = false;
      }
      case "array" -> {
        if (value instanceof JsonArray array) {
          return findInArray(contract, field, array, schema);
        }
        conforms = false;
      }
      default ->
          conforms =
              LEAVES.computeIfAbsent(schema.getMap(), map -> new Leaf(schema)).accepts(value);
    }
    return conforms ? Optional.empty() : refused(field, value, describe(contract, schema));
  }

  private static Optional<Violation> findInObject(
      Contract contract, String field, JsonObject object, JsonObject schema) {
    JsonObject properties = schema.getJsonObject("properties");
    String names = String.join(", ", properties.fieldNames());
    for (Map.Entry<String, Object> entry : object) {
      String path = join(field, entry.getKey());
      if (!properties.containsKey(entry.getKey())) {
        return refused(path, entry.getValue(), "the fields " + names);
      }
      Optional<Violation> below =
          find(contract, path, entry.getValue(), properties.getJsonObject(entry.getKey()));
      if (below.isPresent()) {
        return below;
      }
    }
    for (Object name : schema.getJsonArray("required", new JsonArray())) {
      if (!object.containsKey((String) name)) {
        JsonObject property = properties.getJsonObject((String) name);
        return Optional.of(
            new Violation(
                join(field, (String) name), Optional.empty(), describe(contract, property)));
      }
    }
    return object.size() < schema.getInteger("minProperties", 0)
        ? refused(field.isEmpty() ? "body" : field, object, "at least one of the fields " + names)
        : Optional.empty();
  }

  private static Optional<Violation> findInArray(
      Contract contract, String field, JsonArray array, JsonObject schema) {
    int least = schema.getInteger("minItems", 0);
    int most = schema.getInteger("maxItems", Integer.MAX_VALUE);
    if (array.size() < least || array.size() > most) {
      return Optional.of(
          new Violation(field, Optional.of(array.size() + " entries"), describe(contract, schema)));
    }
    Set<Object> seen = new HashSet<>();
    for (int i = 0; i < array.size(); i++) {
      String path = field + "[" + i + "]";
      Object entry = array.getValue(i);
      Optional<Violation> below = find(contract, path, entry, schema.getJsonObject("items"));
      if (below.isPresent()) {
        return below;
      }
      if (schema.getBoolean("uniqueItems", false) && !seen.add(entry)) {
        return refused(path, entry, "entries that differ from each other");
      }
    }
    return Optional.empty();
  }

  /** What a schema allows, as the end of a sentence. */
  static String describe(Contract contract, JsonObject unresolved) {
    JsonObject schema = contract.resolve(unresolved);
    if (schema.containsKey("x-allowed")) {
      return schema.getString("x-allowed");
    }
    if (schema.containsKey("enum")) {
      return "one of "
          + schema.getJsonArray("enum").stream()
              .map(String::valueOf)
              .collect(Collectors.joining(", "));
    }
    return switch (schema.getString("type", "object")) {
      case "integer" ->
          "an integer in %s..%s".formatted(schema.getValue("minimum"), schema.getValue("maximum"));
      case "boolean" -> "true or false";
      case "string" -> "a string";
      case "array" ->
          "a list of %s..%s entries"
              .formatted(schema.getValue("minItems"), schema.getValue("maxItems"));
      default ->
          "an object"
              + Optional.ofNullable(schema.getJsonObject("properties"))
                  .map(properties -> " of the fields " + String.join(", ", properties.fieldNames()))
                  .orElse("");
    };
  }

  /** A refused value as the sender wrote it, cut where it gets long. */
  static String text(Object value) {
    String text = value instanceof String string ? string : Json.encode(value);
    return text.length() <= LONGEST_VALUE ? text : text.substring(0, LONGEST_VALUE) + "...";
  }

  private static Optional<Violation> refused(String field, Object value, String allowed) {
    return Optional.of(
        new Violation(field.isEmpty() ? "body" : field, Optional.of(text(value)), allowed));
  }

  private static String join(String field, String name) {
    return field.isEmpty() ? name : field + "." + name;
  }
}
