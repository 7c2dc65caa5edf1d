// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static io.fairlead.controller.resources.agents.AgentRequests.report;
import static io.fairlead.controller.resources.agents.AgentRequests.service;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.http.ApiClient;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.leader.ControllerOptions;
import io.fairlead.controller.leader.Controllers;
import io.fairlead.controller.leader.FairleadController;
import io.fairlead.controller.resources.agents.LiveConnections;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.BitSet;
import java.util.Optional;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;

/** Reports to a follower, and what a new leader knows. */
class AgentFailoverTest {
  private static final Duration SOON = Duration.ofSeconds(30);

  /** Without a hold by default, which begins after a report and changes what agents are told. */
  private static final String WEB =
      "{"
          + Ranges.FIELD
          + ",\"name\":\"web\",\"vips\":[\"10.99.0.1\"],\"buckets\":256,\"holdSeconds\":0,"
          + "\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";

  /** A controller and its API. */
  private record Served(FairleadController controller, ApiServer server, ApiClient client)
      implements AutoCloseable {
    static Served open(TestingServer zookeeper, String id) throws IOException {
      FairleadController controller =
          Controllers.prepare(
              ControllerOptions.of(
                  zookeeper.getConnectString(),
                  FreePorts.nextAddress(),
                  "/fairlead",
                  id,
                  InstantSource.system()));
      ApiServer server =
          ApiServer.open(
              new Endpoint("127.0.0.1", 0),
              controller.plane(),
              Resources.of(controller),
              controller.metrics());
      controller.start(Optional.of(server.url(Optional.empty())));
      return new Served(controller, server, new ApiClient(server.listen()));
    }

    LiveConnections live() {
      return controller.softState().reports();
    }

    @Override
    public void close() {
      server.close();
      controller.close();
    }
  }

  @Test
  void aFollowerForwardsReportsAndANewLeaderKnowsNothingUntilItHears() throws Exception {
    try (TestingServer zookeeper = TestZooKeeper.start()) {
      Served first = Served.open(zookeeper, "first");
      assertThat(first.controller().awaitLeader(SOON)).isTrue();
      assertThat(first.client().send("POST", "/v1/services", WEB).status()).isEqualTo(201);
      String backend = "/v1/services/web/backends/7";
      assertThat(first.client().send("PUT", backend, "{\"address\":\"10.2.0.7\"}").status())
          .isEqualTo(201);
      try (Served second = Served.open(zookeeper, "second")) {
        await()
            .atMost(SOON)
            .until(() -> second.controller().plane().health().leaderUrl().isPresent());
        await().atMost(SOON).until(() -> second.controller().isServing());
        JsonObject served = second.client().get("/v1/agent/services").json();
        assertThat(served).isEqualTo(first.client().get("/v1/agent/services").json());
        String version = served.getString("version");
        BitSet buckets = new BitSet();
        buckets.set(5, 9);
        String question = first.live().ask("web", 7, buckets).orElseThrow();
        String report = report(1, version, "10.2.0.7", service("web", 812)).encode();
        JsonObject reply = second.client().send("POST", "/v1/agent/reports", report).json();
        assertThat(reply.getJsonArray("questions").getJsonObject(0).getString("question"))
            .isEqualTo(question);
        assertThat(first.live().connections("web", 7).orElseThrow().established()).isEqualTo(812);
        assertThat(second.live().connections("web", 7)).isEmpty();
        assertThat(state(second)).as("asked of the leader").isEqualTo("reporting");

        first.close();
        assertThat(second.controller().awaitLeader(SOON)).isTrue();
        assertThat(second.live().connections("web", 7)).isEmpty();
        assertThat(second.live().occupied("web", 7)).isEmpty();
        assertThat(state(second)).isEqualTo("never_heard");
        JsonObject later = report(2, version, "10.2.0.7", service("web", 700));
        reply = second.client().send("POST", "/v1/agent/reports", later.encode()).json();
        assertThat(reply.getString("servicesVersion")).isEqualTo(version);
        assertThat(reply.getJsonArray("questions")).isEmpty();
        assertThat(second.live().connections("web", 7).orElseThrow().established()).isEqualTo(700);
        assertThat(second.live().ask("web", 7, buckets).orElseThrow()).isNotEqualTo(question);
      }
    }
  }

  private static String state(Served at) {
    return at.client().get("/v1/agents").array().getJsonObject(0).getString("state");
  }
}
