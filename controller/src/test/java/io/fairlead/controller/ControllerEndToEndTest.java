// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ApiClient;
import io.fairlead.controller.http.ApiClient.Reply;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The whole controller, from REST to ZooKeeper's data on disk, through kill -9 and SIGTERM. */
@Timeout(300)
class ControllerEndToEndTest {
  private static final String WEB = "/v1/services/web";
  private static final List<String> READS =
      List.of(
          "/v1/services",
          WEB,
          WEB + "/backends",
          WEB + "/ring",
          WEB
              + "/explain?protocol=tcp&source=10.2.1.2&sourcePort=40001"
              + "&destination=10.99.0.1&destinationPort=80");

  @TempDir private Path data;

  @Test
  void keepsWhatItAcknowledged() throws IOException, InterruptedException {
    List<String> kept;
    long generation;
    long epoch;
    try (ControllerProcess first = ControllerProcess.start(data)) {
      ApiClient client = new ApiClient(first.api(), ControllerProcess.token(data));
      epoch = first.epoch();
      assertThat(epoch).isPositive();
      generation = build(client);
      kept = READS.stream().map(path -> client.get(path).body()).toList();
      assertThat(first.kill()).isEqualTo(137);
      try (Stream<Path> left = Files.list(ControllerProcess.temporary(data))) {
        assertThat(left.map(path -> path.getFileName().toString()))
            .noneMatch(name -> name.startsWith("vertx-cache"));
      }
    }
    try (ControllerProcess second = ControllerProcess.start(data)) {
      ApiClient client = new ApiClient(second.api(), ControllerProcess.token(data));
      assertThat(second.epoch()).isGreaterThan(epoch);
      assertThat(READS.stream().map(path -> client.get(path).body()).toList()).isEqualTo(kept);
      JsonObject drained =
          ok(client.send("PATCH", WEB + "/backends/2?force=true", "{\"weight\":0}"));
      assertThat(drained.getLong("generation")).isEqualTo(generation + 1);
      ok(client.send("DELETE", WEB, ""));
      assertThat(second.terminate()).as("128 + SIGTERM").isEqualTo(143);
    }
    try (ControllerProcess third = ControllerProcess.start(data)) {
      ApiClient client = new ApiClient(third.api(), ControllerProcess.token(data));
      assertThat(client.get("/v1/services").array()).isEmpty();
      create(client);
      assertThat(client.get(WEB).json().getInteger("id"))
          .as("ids are handed out once")
          .isEqualTo(2);
    }
  }

  /** Creates, adds, plans, changes, drains and removes; the generation at the end. */
  private static long build(ApiClient client) {
    create(client);
    for (int id = 1; id <= 4; id++) {
      Reply added =
          client.send("PUT", WEB + "/backends/" + id, "{\"address\":\"10.1.0.2%d\"}".formatted(id));
      assertThat(added.status()).isEqualTo(201);
      assertThat(added.json().getLong("generation")).isEqualTo(id + 1);
    }
    assertBuckets(client, Map.of(1, 256, 2, 256, 3, 256, 4, 256));

    String before = client.get(WEB + "/ring").body();
    JsonObject plan = ok(client.send("PATCH", WEB + "/backends/4?dryRun=true", "{\"weight\":0}"));
    assertThat(plan.getInteger("movedBuckets")).isEqualTo(256);
    assertThat(client.get(WEB + "/ring").body()).isEqualTo(before);
    JsonObject drained = ok(client.send("PATCH", WEB + "/backends/4", "{\"weight\":0}"));
    assertThat(drained.getJsonArray("moves")).isEqualTo(plan.getJsonArray("moves"));
    ok(client.send("DELETE", WEB + "/backends/4", ""));
    assertThat(client.get(WEB + "/backends/4").status()).isEqualTo(404);

    JsonObject changed =
        ok(
            client.send(
                "POST",
                WEB + "/changes?force=true",
                """
                {"changes":[{"op":"add","id":5,"address":"fd00::5","weight":200},
                            {"op":"weight","id":1,"weight":0},
                            {"op":"remove","id":3}]}\
                """));
    assertThat(changed.getLong("generation")).isEqualTo(8);
    JsonArray backends = client.get(WEB + "/backends").array();
    assertThat(backends.stream().map(b -> ((JsonObject) b).getInteger("id")).toList())
        .containsExactly(1, 2, 5);
    int second = backends.getJsonObject(1).getInteger("buckets");
    int fifth = backends.getJsonObject(2).getInteger("buckets");
    assertThat(second + fifth).isEqualTo(1024);
    assertThat(fifth).isBetween(682, 683);

    String refused =
        "{\"changes\":[{\"op\":\"remove\",\"id\":5},"
            + "{\"op\":\"add\",\"id\":2,\"address\":\"10.1.0.99\"}]}";
    String state = client.get(WEB + "/backends").body();
    assertThat(client.send("POST", WEB + "/changes", refused).status()).isEqualTo(409);
    assertThat(client.get(WEB + "/backends").body()).isEqualTo(state);

    JsonObject explained = client.get(READS.get(4)).json();
    int bucket = explained.getInteger("bucket");
    int owner = explained.getJsonObject("current").getInteger("id");
    JsonArray runs =
        client.get(WEB + "/ring").json().getJsonObject("runs").getJsonArray("" + owner);
    assertThat(runs.stream().map(JsonArray.class::cast))
        .as("explain and ring agree on bucket %d", bucket)
        .anyMatch(
            run -> bucket >= run.getInteger(0) && bucket < run.getInteger(0) + run.getInteger(1));
    assertThat(client.get("/healthz").json().getBoolean("leader")).isTrue();
    assertThat(client.get("/metrics").body())
        .contains("fairlead_controller_generation{service=\"web\"} 8");
    return changed.getLong("generation");
  }

  private static void create(ApiClient client) {
    Reply created =
        client.send(
            "POST",
            "/v1/services",
            """
            {"name":"web","vips":["10.99.0.1"],"ports":[{"protocol":"tcp","port":80}],
             "buckets":1024,"vipRanges":["10.99.0.0/16"]}\
            """);
    assertThat(created.status()).as(created.body()).isEqualTo(201);
  }

  private static void assertBuckets(ApiClient client, Map<Integer, Integer> expected) {
    for (Object entry : client.get(WEB + "/backends").array()) {
      JsonObject backend = (JsonObject) entry;
      assertThat(backend.getInteger("buckets")).isEqualTo(expected.get(backend.getInteger("id")));
    }
  }

  private static JsonObject ok(Reply reply) {
    assertThat(reply.status()).as(reply.body()).isEqualTo(200);
    return reply.json();
  }
}
