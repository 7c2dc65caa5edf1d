// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Precondition;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import io.vertx.openapi.validation.RequestParameter;
import io.vertx.openapi.validation.ValidatedRequest;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** A request that the contract allows. */
public record Request(ValidatedRequest valid, RoutingContext context) {
  private static final int RECORDED_MAX = 1024;

  /** The name of the service in the path. */
  public String service() {
    return valid.getPathParameters().get("name").getString();
  }

  /** A number in the path. */
  public int pathNumber(String name) {
    return valid.getPathParameters().get(name).getInteger();
  }

  /** A word in the path. */
  public String pathText(String name) {
    return valid.getPathParameters().get(name).getString();
  }

  /** A query parameter as it was sent. */
  public Optional<String> sent(String name) {
    return Optional.ofNullable(context.queryParams().get(name));
  }

  /** A required query parameter. */
  public String query(String name) {
    return valid.getQuery().get(name).getString();
  }

  /** A query parameter that may be absent. */
  public Optional<String> optional(String name) {
    return Optional.ofNullable(valid.getQuery().get(name)).map(RequestParameter::getString);
  }

  /** A required query parameter. */
  public int queryNumber(String name) {
    return valid.getQuery().get(name).getInteger();
  }

  /** A query parameter that is {@code absent} when it was not sent. */
  public int queryNumber(String name, int absent) {
    return Optional.ofNullable(valid.getQuery().get(name).getInteger()).orElse(absent);
  }

  boolean dryRun() {
    return flag("dryRun");
  }

  WriteOptions.OnLoss onLoss() {
    if (flag("force") && flag("whenSafe")) {
      throw Refusal.invalid("whenSafe", true, "one of force and whenSafe, not both");
    }
    if (flag("force")) {
      return WriteOptions.OnLoss.FORCE;
    }
    return flag("whenSafe") ? WriteOptions.OnLoss.WAIT : WriteOptions.OnLoss.REFUSE;
  }

  /** In which steps a change of weights takes effect, if the request says so. */
  Optional<WriteOptions.Stages> stages() {
    Optional<Integer> bake =
        Optional.ofNullable(valid.getQuery().get("bake")).map(RequestParameter::getInteger);
    Optional<String> text = optional("stage");
    if (bake.isPresent() && text.isEmpty()) {
      throw Refusal.invalid("bake", bake.get(), "with stage");
    }
    return text.map(steps -> new WriteOptions.Stages(steps, bake));
  }

  /** An optional query parameter of those that are false when absent. */
  public boolean flag(String name) {
    RequestParameter parameter = valid.getQuery().get(name);
    return parameter != null && parameter.getBoolean(false);
  }

  HttpServerRequest http() {
    return context.request();
  }

  public String path() {
    return http().path();
  }

  Precondition precondition() {
    return new Precondition(
        header("If-Match").map(EntityTags::strong).orElse(Set.of()),
        header("If-None-Match").isPresent());
  }

  String caller() {
    return Access.caller(context);
  }

  /** Whether the caller may change some services only, and nothing of the cluster. */
  public boolean isRestricted() {
    return Access.isRestricted(context);
  }

  /** Who calls, and what it may do. */
  public Identity identity() {
    return Access.identity(context);
  }

  public Sender sender() {
    return Access.sender(context);
  }

  /** Without the answer to a repeated request. */
  public Origin origin() {
    return new Origin(caller(), line(), recordedBody(), Optional.empty());
  }

  /** Method, path and query. */
  String line() {
    return "%s %s".formatted(http().method(), http().uri());
  }

  Buffer bodyBytes() {
    Buffer body = context.body().buffer();
    return body == null ? Buffer.buffer() : body;
  }

  /**
   * The body for the audit record, without the hash key, which is a secret; empty if it is long.
   */
  Optional<String> recordedBody() {
    if (bodyBytes().length() == 0 || bodyBytes().length() > RECORDED_MAX) {
      return Optional.empty();
    }
    JsonObject body = body().copy();
    if (body.containsKey("hashKey")) {
      body.put("hashKey", "***");
    }
    return Optional.of(body.encode());
  }

  /** Several headers of one name are one, separated by commas. */
  Optional<String> header(String name) {
    List<String> values = http().headers().getAll(name);
    return values.isEmpty() ? Optional.empty() : Optional.of(String.join(", ", values));
  }

  public Optional<Integer> limit() {
    return Optional.ofNullable(valid.getQuery().get("limit").getInteger());
  }

  public Optional<String> cursor() {
    return Optional.ofNullable(valid.getQuery().get("cursor").getString());
  }

  <T, K extends Comparable<K>> Page<T> page(
      List<T> sorted, Function<T, K> key, Function<String, K> parse) {
    return Page.of(sorted, key, cursor(), parse, limit());
  }

  JsonObject body() {
    return valid.getBody().getJsonObject();
  }

  /** The body as {@code type}; fields that the type does not have are left out. */
  public <T> T body(Class<T> type) {
    return parse(bodyBytes().getBytes(), type);
  }

  static <T> T parse(byte[] body, Class<T> type) {
    try {
      return Answer.JSON.readValue(body, type);
    } catch (IOException e) {
      throw new IllegalStateException("the contract let through a body that is no " + type, e);
    }
  }
}
