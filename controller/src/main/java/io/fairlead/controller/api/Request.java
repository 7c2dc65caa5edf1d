// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.fairlead.controller.service.ControlPlane.Change;
import io.fairlead.controller.service.ControlPlane.Flow;
import io.fairlead.controller.service.ControlPlane.MptcpPorts;
import io.fairlead.controller.service.ControlPlane.Port;
import io.fairlead.controller.service.ControlPlane.ServiceChange;
import io.fairlead.controller.service.ControlPlane.ServiceSpec;
import io.fairlead.controller.service.WriteOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.openapi.validation.ValidatedRequest;
import java.util.List;
import java.util.Optional;

/** A request that the contract has let through, as the control plane's words. */
record Request(ValidatedRequest valid) {
  static final int DEFAULT_WEIGHT = 100;
  static final int DEFAULT_WINDOW_SECONDS = 240;

  String service() {
    return valid.getPathParameters().get("name").getString();
  }

  int backend() {
    return valid.getPathParameters().get("id").getInteger();
  }

  boolean dryRun() {
    return valid.getQuery().get("dryRun").getBoolean(false);
  }

  WriteOptions options() {
    return WriteOptions.of(dryRun());
  }

  JsonObject body() {
    return valid.getBody().getJsonObject();
  }

  int weight() {
    return body().getInteger("weight", DEFAULT_WEIGHT);
  }

  ServiceSpec serviceSpec() {
    JsonObject body = body();
    return new ServiceSpec(
        body.getString("name"),
        strings(body.getJsonArray("vips")),
        ports(body.getJsonArray("ports")),
        Optional.ofNullable(body.getInteger("maxBackends")),
        Optional.ofNullable(body.getInteger("buckets")),
        body.getString("hash", "siphash"),
        Optional.ofNullable(body.getString("hashKey")),
        body.getString("affinity", "connection"),
        body.getInteger("windowSeconds", DEFAULT_WINDOW_SECONDS),
        mptcpPorts(body));
  }

  ServiceChange serviceChange() {
    JsonObject body = body();
    return new ServiceChange(
        Optional.ofNullable(body.getJsonArray("vips")).map(Request::strings),
        Optional.ofNullable(body.getJsonArray("ports")).map(Request::ports),
        Optional.ofNullable(body.getInteger("windowSeconds")),
        mptcpPorts(body));
  }

  private static Optional<MptcpPorts> mptcpPorts(JsonObject body) {
    return Optional.ofNullable(body.getJsonObject("mptcpPorts"))
        .map(range -> new MptcpPorts(range.getInteger("first"), range.getInteger("last")));
  }

  List<Change> changes() {
    return objects(body().getJsonArray("changes")).stream().map(Request::change).toList();
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
