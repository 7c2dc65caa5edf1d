// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** The OpenAPI document: served unchanged, and the router in front of every handler. */
final class Contract {
  /** {@link Violation} checks lists that may be longer: see {@link #router}. */
  private static final int LONG_LIST = 1024;

  /** Of operations that have a body and say no other one. */
  static final int BODY_LIMIT = 1 << 20;

  static final String RESOURCE = "/openapi.yaml";

  private final JsonObject document;

  /** What each {@code $ref} names: lists of 65,535 entries follow some for each. */
  private final Map<String, JsonObject> named = new ConcurrentHashMap<>();

  private Contract(JsonObject document) {
    this.document = document;
  }

  static Contract load() {
    try (InputStream in = Contract.class.getResourceAsStream(RESOURCE)) {
      ObjectMapper yaml = new YAMLMapper();
      return new Contract(new JsonObject(yaml.readTree(in).toString()));
    } catch (IOException e) {
      throw new UncheckedIOException(RESOURCE + " is not readable", e);
    }
  }

  JsonObject document() {
    return document;
  }

  /**
   * The document as Vert.x's router, which checks requests only: it rejects responses of a media
   * type that it cannot validate, {@code application/problem+json} among them, so their contents
   * are removed. Header parameters are removed too, because it parses the quotes of an entity tag
   * as JSON; {@link Guard} checks headers. Of long lists it checks only the length: its validator
   * takes at least 0.1 ms per entry, 7 s for a change of every backend, and {@link Violation} takes
   * a tenth of that.
   */
  Future<OpenAPIContract> router(Vertx vertx) {
    JsonObject copy = document.copy();
    copy.getJsonObject("components")
        .getJsonObject("schemas")
        .forEach(schema -> removeLongEntries((JsonObject) schema.getValue()));
    copy.remove("security");
    removeContents(copy.getJsonObject("components").getJsonObject("responses"));
    for (Map.Entry<String, Object> path : copy.getJsonObject("paths")) {
      for (Map.Entry<String, Object> operation : (JsonObject) path.getValue()) {
        if (operation.getValue() instanceof JsonObject model) {
          model.remove("security"); // Access checks it
          removeContents(model.getJsonObject("responses"));
          removeHeaders(model);
        }
      }
    }
    return OpenAPIContract.from(vertx, copy);
  }

  private static void removeLongEntries(JsonObject schema) {
    if (schema.getInteger("maxItems", 0) > LONG_LIST) {
      schema.remove("items");
    }
    schema
        .getJsonObject("properties", new JsonObject())
        .forEach(property -> removeLongEntries((JsonObject) property.getValue()));
  }

  /** The operation's parameters as in the document, those of its path first. */
  Stream<JsonObject> parameters(Operation operation) {
    JsonObject path = path(operation);
    JsonObject model = path.getJsonObject(method(operation));
    return Stream.of(path, model)
        .flatMap(o -> o.getJsonArray("parameters", new JsonArray()).stream())
        .map(parameter -> resolve((JsonObject) parameter));
  }

  /** The role that may call the operation; empty if it is open to all. */
  Optional<Role> role(Operation operation) {
    return Optional.ofNullable(path(operation).getJsonObject(method(operation)).getString("x-role"))
        .map(role -> Role.parse(role).orElseThrow());
  }

  /** Whether only the leader can answer the operation, although it writes nothing. */
  boolean isOfLeader(Operation operation) {
    return path(operation).getJsonObject(method(operation)).getBoolean("x-leader", false);
  }

  /** Whether agents send it: its body may be compressed. */
  boolean isOfAgents(Operation operation) {
    return operation.getRequestBody() != null && role(operation).equals(Optional.of(Role.SERVER));
  }

  /**
   * How many bytes a request's body may have, before and after it is decompressed.
   *
   * @param operation null: none of the contract's; a body is then not read
   */
  int bodyLimit(Operation operation) {
    return operation == null || operation.getRequestBody() == null
        ? 0
        : path(operation).getJsonObject(method(operation)).getInteger("x-body-limit", BODY_LIMIT);
  }

  /** The schema of the operation's JSON body. */
  JsonObject body(Operation operation) {
    return path(operation)
        .getJsonObject(method(operation))
        .getJsonObject("requestBody")
        .getJsonObject("content")
        .getJsonObject("application/json")
        .getJsonObject("schema");
  }

  /** Follows {@code $ref}, and {@code allOf} of one, which only adds a default to its member. */
  JsonObject resolve(JsonObject node) {
    String ref = node.getString("$ref");
    if (ref != null) {
      return resolve(named.computeIfAbsent(ref, this::at));
    }
    JsonArray all = node.getJsonArray("allOf");
    return all != null && all.size() == 1 ? resolve(all.getJsonObject(0)) : node;
  }

  private void removeHeaders(JsonObject model) {
    JsonArray parameters = model.getJsonArray("parameters", new JsonArray());
    for (int i = parameters.size() - 1; i >= 0; i--) {
      if (isHeader(parameters.getJsonObject(i))) {
        parameters.remove(i);
      }
    }
  }

  boolean isHeader(JsonObject parameter) {
    return resolve(parameter).getString("in").equals("header");
  }

  private JsonObject at(String ref) {
    JsonObject node = document;
    for (String name : ref.substring("#/".length()).split("/")) {
      node = node.getJsonObject(name);
    }
    return node;
  }

  private JsonObject path(Operation operation) {
    return document.getJsonObject("paths").getJsonObject(operation.getOpenAPIPath());
  }

  private static String method(Operation operation) {
    return operation.getHttpMethod().name().toLowerCase(Locale.ROOT);
  }

  private static void removeContents(JsonObject responses) {
    responses.forEach(response -> ((JsonObject) response.getValue()).remove("content"));
  }
}
