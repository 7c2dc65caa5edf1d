// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Ranges;
import io.fairlead.controller.Resources;
import io.fairlead.controller.http.ApiClient;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two requests to one service at the same time, through the REST API on a real ZooKeeper. */
class ConcurrentWritesTest extends EmbeddedController {
  private static final int ROUNDS = 30;
  private static final String WEB = "/v1/services/web";
  private static final String SETTINGS =
      "{"
          + Ranges.FIELD
          + ",\"vips\":[\"10.99.0.1\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]%s}";

  private ApiServer server;
  private ApiClient client;

  @BeforeEach
  void serve() throws Exception {
    server =
        ApiServer.open(
            new Endpoint("127.0.0.1", 0),
            controller.plane(),
            Resources.of(controller),
            controller.metrics());
    client = new ApiClient(server.listen());
    client.send("PUT", WEB, SETTINGS.formatted(",\"buckets\":256"));
  }

  @AfterEach
  void end() {
    server.close();
  }

  private static List<ApiClient.Reply> atOnce(Stream<Supplier<ApiClient.Reply>> requests) {
    return requests.map(CompletableFuture::supplyAsync).toList().stream()
        .map(CompletableFuture::join)
        .toList();
  }

  @Test
  void oneOfTwoPutsOfANewBackendAddsItAndTheOtherWeighsIt() {
    for (int id = 1; id <= ROUNDS; id++) {
      String path = WEB + "/backends/" + id;
      String forced = path + "?force=true";
      String body = "{\"address\":\"10.1.0.%d\",\"weight\":%d}";
      String light = body.formatted(id, 1);
      String heavy = body.formatted(id, 2);
      List<ApiClient.Reply> replies =
          atOnce(
              Stream.of(
                  () -> client.send("PUT", forced, light),
                  () -> client.send("PUT", forced, heavy)));
      assertThat(replies)
          .extracting(ApiClient.Reply::status)
          .as(path)
          .containsExactlyInAnyOrder(201, 200);
      ApiClient.Reply last = replies.get(replies.get(0).status() == 201 ? 1 : 0);
      int weight = last == replies.get(0) ? 1 : 2;
      assertThat(client.get(path).json().getInteger("weight")).isEqualTo(weight);
    }
  }

  @Test
  void onlyOneOfTwoPutsOfANewServiceCreatesIt() {
    for (int id = 1; id <= ROUNDS; id++) {
      String path = "/v1/services/s" + id;
      String body = SETTINGS.formatted("").replace("10.99.0.1", "10.99.1." + id);
      List<ApiClient.Reply> replies =
          atOnce(
              Stream.of(
                  () -> client.send("PUT", path, body), () -> client.send("PUT", path, body)));
      assertThat(replies)
          .extracting(ApiClient.Reply::status)
          .as(path)
          .containsExactlyInAnyOrder(201, 200);
    }
  }

  /** Whichever is committed first, the assignment that one of them sets stays. */
  @Test
  void aPutThatNamesNoAssignmentKeepsTheOneThatAnotherWriterSets() {
    List<String> methods = List.of("maglev", "consistent", "rendezvous");
    for (int round = 0; round < ROUNDS; round++) {
      String method = methods.get(round % methods.size());
      String window = SETTINGS.formatted(",\"windowSeconds\":" + (100 - round));
      List<ApiClient.Reply> replies =
          atOnce(
              Stream.of(
                  () -> client.send("PUT", WEB, window),
                  () -> client.send("PATCH", WEB, "{\"assignment\":\"" + method + "\"}")));
      assertThat(replies).extracting(ApiClient.Reply::status).containsOnly(200);
      assertThat(client.get(WEB).json().getString("assignment"))
          .as("round %d", round)
          .isEqualTo(method);
    }
  }
}
