// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ApiClient;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.leader.ControllerOptions;
import io.fairlead.controller.leader.Controllers;
import io.fairlead.controller.leader.FairleadController;
import io.fairlead.controller.resources.agents.AgentRequests;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a plan and a write say of live connections in the buckets that move, by reports. */
class LeavingTest {
  private static final long NOW = 1_700_000_000;
  private static final String WEB = "/v1/services/web";

  @TempDir private Path directory;
  private long now = NOW;
  private FairleadController controller;
  private ApiServer server;
  private ApiClient client;
  private long sequence;

  /** Two backends of 512 buckets each. */
  @BeforeEach
  void open() throws Exception {
    InstantSource clock = () -> Instant.ofEpochSecond(now);
    controller =
        Controllers.open(
            ControllerOptions.of(
                    "embedded:" + directory, FreePorts.nextAddress(), "/fairlead", "test", clock)
                .withClockCheck(false));
    assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
    server =
        ApiServer.open(
            new Endpoint("127.0.0.1", 0),
            controller.plane(),
            Resources.of(controller),
            controller.metrics());
    client = new ApiClient(server.listen());
    put(
        WEB,
        "{"
            + Ranges.FIELD
            + ",\"vips\":[\"10.99.0.1\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],\"buckets\":1024,\"holdSeconds\":0,"
            + "\"pool\":[{\"id\":1,\"address\":\"10.2.0.1\"},{\"id\":2,\"address\":\"10.2.0.2\"}]}");
    now += 1000;
  }

  @AfterEach
  void close() {
    server.close();
    controller.close();
  }

  private JsonObject put(String path, String body) {
    return checked(client.send("PUT", path, body));
  }

  private JsonObject patch(String path, String body) {
    return checked(client.send("PATCH", path, body));
  }

  private static JsonObject checked(ApiClient.Reply reply) {
    assertThat(reply.status()).as(reply.body()).isIn(200, 201);
    return reply.json();
  }

  /** An agent reports so many established connections, and a half-open one. */
  private void report(int backend, long established) {
    String version = client.get("/v1/agent/services").json().getString("version");
    JsonObject report =
        AgentRequests.report(
            ++sequence, version, "10.2.0." + backend, AgentRequests.service("web", established));
    report.put("boot", "%032x".formatted(backend));
    checked(client.send("POST", "/v1/agent/reports", report.encode()));
  }

  private static JsonObject of(int backend, int buckets, String fate, long until) {
    return new JsonObject()
        .put("backend", backend)
        .put("buckets", buckets)
        .put("estimated", false)
        .put("fate", fate)
        .put("until", until);
  }

  private static JsonObject ended(long connections, int uncounted) {
    return new JsonObject().put("connections", connections).put("uncountedBackends", uncounted);
  }

  private static JsonArray list(JsonObject... entries) {
    JsonArray list = new JsonArray();
    for (JsonObject entry : entries) {
      list.add(entry);
    }
    return list;
  }

  @Test
  void aBackendThatGivesAllHasTheNumberOfItsAgent() {
    report(2, 811);
    JsonObject expected = of(2, 512, "chained", now + 240).put("connections", 812);
    JsonObject plan = patch(WEB + "/backends/2?dryRun=true", "{\"weight\":0}");
    assertThat(plan.getJsonArray("leaving")).isEqualTo(list(expected));
    assertThat(plan.getJsonObject("windowEnds")).isEqualTo(ended(812, 0));
    assertThat(patch(WEB + "/backends/2", "{\"weight\":0}").getJsonArray("leaving"))
        .isEqualTo(list(expected));
  }

  @Test
  void aBackendThatGivesAPartHasAnEstimateAndOneWithoutAnAgentNone() {
    report(1, 999);
    JsonObject plan = put(WEB + "/backends/3?dryRun=true", "{\"address\":\"10.2.0.3\"}");
    JsonArray leaving = plan.getJsonArray("leaving");
    JsonObject one = leaving.getJsonObject(0);
    int buckets = one.getInteger("buckets");
    assertThat(buckets).isBetween(170, 171);
    assertThat(one)
        .isEqualTo(
            of(1, buckets, "chained", now + 240)
                .put("estimated", true)
                .put("connections", Math.round(1000.0 * buckets / 512)));
    assertThat(leaving.getJsonObject(1))
        .isEqualTo(
            of(2, leaving.getJsonObject(1).getInteger("buckets"), "chained", now + 240)
                .put("unknown", "backend 2 has no agent"));
    assertThat(plan.getJsonObject("windowEnds"))
        .isEqualTo(ended(Math.round(1000.0 * buckets / 512), 1));
  }

  @Test
  void bucketsThatAreStillChainedToTheBackendCountAsItsOwn() {
    patch(WEB + "/backends/2", "{\"weight\":1}");
    report(2, 999);
    JsonObject one =
        patch(WEB + "/backends/2?dryRun=true", "{\"weight\":0}")
            .getJsonArray("leaving")
            .getJsonObject(0);
    assertThat(one.getBoolean("estimated")).isTrue();
    assertThat(one.getLong("connections"))
        .isEqualTo(Math.round(1000.0 * one.getInteger("buckets") / 512));
  }

  @Test
  void withAHoldTheyAreHeld() {
    patch(WEB, "{\"holdSeconds\":3600}");
    report(2, 0);
    JsonObject plan = patch(WEB + "/backends/2?dryRun=true", "{\"weight\":0}");
    assertThat(plan.getJsonArray("leaving"))
        .isEqualTo(list(of(2, 512, "held", now + 3600).put("connections", 1)));
    assertThat(plan.getJsonObject("windowEnds")).isNull();
  }

  @Test
  void thoseOfADeadBackendAreBroken() {
    report(2, 4);
    JsonObject plan = checked(client.send("DELETE", WEB + "/backends/2?dead=true&dryRun=true", ""));
    assertThat(plan.getJsonArray("leaving"))
        .isEqualTo(list(of(2, 512, "broken", now).put("connections", 5)));
    assertThat(plan.getJsonObject("windowEnds")).as("they break at once").isNull();
  }

  @Test
  void anAgentOfFormerServicesHasNotCounted() {
    report(2, 4);
    patch(WEB, "{\"ports\":[{\"protocol\":\"tcp\",\"port\":81}]}");
    JsonObject report = AgentRequests.report(++sequence, "former", "10.2.0.2");
    checked(
        client.send(
            "POST", "/v1/agent/reports", report.put("boot", "%032x".formatted(2)).encode()));
    JsonObject plan = patch(WEB + "/backends/2?dryRun=true", "{\"weight\":0}");
    assertThat(plan.getJsonArray("leaving").getJsonObject(0).getString("unknown"))
        .isEqualTo("the agent of backend 2 has not counted the service yet");
  }

  @Test
  void whatMovesNothingSaysNothing() {
    assertThat(patch(WEB + "?dryRun=true", "{\"vips\":[\"10.99.0.2\"]}").containsKey("leaving"))
        .isFalse();
  }

  @Test
  void theCommandSaysItInWords() {
    report(1, 999);
    String api = "http://" + server.listen();
    String moves = CtlRun.done(api, "backend add web 3 10.2.0.3 --dry-run");
    String until = ", broken at " + Instant.ofEpochSecond(now + 240) + " if still open";
    assertThat(moves)
        .containsPattern(
            "backend 1 gives 17[01] buckets with about 33[0-9] connections: chained" + until)
        .containsPattern(
            "backend 2 gives 17[01] buckets with an unknown number of connections"
                + " \\(backend 2 has no agent\\): chained"
                + until);
    assertThat(CtlRun.done(api, "agents"))
        .containsPattern("web +1  10.2.0.1  reporting +- +[0-9.]+  events +999 +1 +0/511")
        .containsPattern("web +2  10.2.0.2  never heard +-");
  }
}
