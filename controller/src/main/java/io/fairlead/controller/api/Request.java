// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.fairlead.controller.backends.Change;
import io.fairlead.controller.explain.Flow;
import io.fairlead.controller.image.UpkeepState.Kind;
import io.fairlead.controller.plane.Precondition;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.services.MptcpPorts;
import io.fairlead.controller.services.Port;
import io.fairlead.controller.services.QuicServerId;
import io.fairlead.controller.services.ServiceChange;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.services.ServiceView;
import io.fairlead.controller.services.Wire;
import io.fairlead.controller.upkeep.UpkeepOrder;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import io.vertx.openapi.validation.ValidatedRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A request that the contract has let through, as the control plane's words. */
record Request(ValidatedRequest valid, RoutingContext context) {
  static final int DEFAULT_WEIGHT = 100;
  static final int DEFAULT_WINDOW_SECONDS = 240;
  static final double DEFAULT_IMBALANCE = 1.05;
  static final double DEFAULT_RULES = 1.2;
  static final int DEFAULT_MOVES = 10;

  private static final int RECORDED_MAX = 1024;

  String service() {
    return valid.getPathParameters().get("name").getString();
  }

  int backend() {
    return valid.getPathParameters().get("id").getInteger();
  }

  boolean dryRun() {
    return valid.getQuery().get("dryRun").getBoolean(false);
  }

  HttpServerRequest http() {
    return context.request();
  }

  Precondition precondition() {
    return new Precondition(
        header("If-Match").map(EntityTags::strong).orElse(Set.of()),
        header("If-None-Match").isPresent());
  }

  String caller() {
    return Access.caller(context);
  }

  /** Method, path and query. */
  String line() {
    return "%s %s".formatted(http().method(), http().uri());
  }

  Buffer bodyBytes() {
    Buffer body = context.body().buffer();
    return body == null ? Buffer.buffer() : body;
  }

  /** The body for the audit record: without the hash key, which is a secret; not if it is long. */
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

  /** Several of one name are one, separated by commas. */
  Optional<String> header(String name) {
    List<String> values = http().headers().getAll(name);
    return values.isEmpty() ? Optional.empty() : Optional.of(String.join(", ", values));
  }

  Optional<Integer> limit() {
    return Optional.ofNullable(valid.getQuery().get("limit").getInteger());
  }

  Optional<String> cursor() {
    return Optional.ofNullable(valid.getQuery().get("cursor").getString());
  }

  JsonObject body() {
    return valid.getBody().getJsonObject();
  }

  int weight() {
    return body().getInteger("weight", DEFAULT_WEIGHT);
  }

  ServiceSpec serviceSpec() {
    return serviceSpec(body().getString("name"), body());
  }

  /**
   * The service of the path as a whole: what decides on buckets stays as in {@code present} if the
   * body does not name it.
   */
  ServiceSpec serviceState(Optional<ServiceView> present) {
    JsonObject body = body().copy();
    if (present.isPresent()) {
      ServiceView view = present.get();
      if (!body.containsKey("buckets") && !body.containsKey("maxBackends")) {
        body.put("buckets", view.buckets());
      }
      body.put("hash", body.getString("hash", view.hash()));
      body.put("affinity", body.getString("affinity", view.affinity()));
      body.put("assignment", body.getString("assignment", view.assignment()));
      body.put("encap", body.getString("encap", view.encap()));
    }
    return serviceSpec(service(), body);
  }

  Optional<List<Change.Add>> pool() {
    return Optional.ofNullable(body().getJsonArray("pool"))
        .map(
            members ->
                objects(members).stream()
                    .map(
                        member ->
                            new Change.Add(
                                member.getInteger("id"),
                                member.getString("address"),
                                member.getInteger("weight", DEFAULT_WEIGHT)))
                    .toList());
  }

  private static ServiceSpec serviceSpec(String name, JsonObject body) {
    return new ServiceSpec(
        name,
        strings(body.getJsonArray("vips")),
        ports(body.getJsonArray("ports")),
        Optional.ofNullable(body.getInteger("maxBackends")),
        Optional.ofNullable(body.getInteger("buckets")),
        body.getString("hash", "siphash"),
        Optional.ofNullable(body.getString("hashKey")),
        body.getString("affinity", "connection"),
        body.getInteger("windowSeconds", DEFAULT_WINDOW_SECONDS),
        mptcpPorts(body),
        body.getString("assignment", "beamer"),
        new Wire(
            body.getString("encap", "gue"),
            quicServerId(body),
            Optional.ofNullable(body.getInteger("maxSegmentSize"))));
  }

  ServiceChange serviceChange() {
    JsonObject body = body();
    return new ServiceChange(
        Optional.ofNullable(body.getJsonArray("vips")).map(Request::strings),
        Optional.ofNullable(body.getJsonArray("ports")).map(Request::ports),
        Optional.ofNullable(body.getInteger("windowSeconds")),
        mptcpPorts(body),
        Optional.ofNullable(body.getString("assignment")),
        quicServerId(body),
        Optional.ofNullable(body.getInteger("maxSegmentSize")));
  }

  private static Optional<QuicServerId> quicServerId(JsonObject body) {
    return Optional.ofNullable(body.getJsonObject("quicServerId"))
        .map(at -> new QuicServerId(at.getInteger("offset"), at.getInteger("length")));
  }

  private static Optional<MptcpPorts> mptcpPorts(JsonObject body) {
    return Optional.ofNullable(body.getJsonObject("mptcpPorts"))
        .map(range -> new MptcpPorts(range.getInteger("first"), range.getInteger("last")));
  }

  List<Change> changes() {
    return objects(body().getJsonArray("changes")).stream().map(Request::change).toList();
  }

  UpkeepOrder upkeep(Kind kind) {
    JsonObject body = body();
    Map<Integer, Double> loads = new HashMap<>();
    for (JsonObject load : objects(body.getJsonArray("loads", new JsonArray()))) {
      if (loads.put(load.getInteger("id"), load.getDouble("load")) != null) {
        throw new Refusal(
            Refusal.Kind.INVALID,
            "loads.id",
            load.getInteger("id").toString(),
            "each backend once in a measurement");
      }
    }
    return new UpkeepOrder(
        kind,
        body.getDouble("target", kind == Kind.REBALANCE ? DEFAULT_IMBALANCE : DEFAULT_RULES),
        body.getInteger("maxMoves", DEFAULT_MOVES),
        body.getBoolean("moveChained", false),
        loads);
  }

  Flow flow() {
    return new Flow(
        query("protocol"),
        query("source"),
        valid.getQuery().get("sourcePort").getInteger(),
        query("destination"),
        valid.getQuery().get("destinationPort").getInteger());
  }

  private String query(String name) {
    return valid.getQuery().get(name).getString();
  }

  private static Change change(JsonObject change) {
    int id = change.getInteger("id");
    return switch (change.getString("op")) {
      case "add" ->
          new Change.Add(
              id, change.getString("address"), change.getInteger("weight", DEFAULT_WEIGHT));
      case "weight" -> new Change.Weight(id, change.getInteger("weight"));
      case "remove" -> new Change.Remove(id);
      default -> throw new IllegalStateException("the contract let through " + change.encode());
    };
  }

  private static List<Port> ports(JsonArray ports) {
    return objects(ports).stream()
        .map(port -> new Port(port.getString("protocol"), port.getInteger("port")))
        .toList();
  }

  private static List<String> strings(JsonArray array) {
    return array.stream().map(String.class::cast).toList();
  }

  private static List<JsonObject> objects(JsonArray array) {
    return array.stream().map(JsonObject.class::cast).toList();
  }
}
