// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Resources;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.http.ApiClient;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a release, the end of a drain and arrays wait for, on a real ZooKeeper: that muxes have
 * stored what is settled, which the leader tells them.
 */
class SettledServiceTest {
  private static final long NOW = 1_700_000_000;
  private static final Duration SOON = Duration.ofSeconds(60);
  private static final int QUIET = MuxPresence.BEHIND_SECONDS_DEFAULT + SettledMoves.MARGIN_SECONDS;

  private final SettableClock clock = new SettableClock(NOW);
  private TestingServer zookeeper;
  private CuratorFramework client;
  private FairleadController controller;

  @BeforeEach
  void open() throws Exception {
    zookeeper = TestZooKeeper.start();
    client =
        CuratorFrameworkFactory.newClient(zookeeper.getConnectString(), new RetryOneTime(1000));
    client.start();
    controller = lead("first");
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
  }

  @AfterEach
  void close() throws Exception {
    controller.close();
    client.close();
    zookeeper.close();
  }

  private FairleadController lead(String id) throws Exception {
    FairleadController opened =
        Controllers.open(
            ControllerOptions.of(
                    zookeeper.getConnectString(), FreePorts.nextAddress(), "/fairlead", id, clock)
                .withMonotonic(clock::seconds)
                .withClockCheck(false));
    assertThat(opened.awaitLeader(SOON)).isTrue();
    return opened;
  }

  private void mux(String id, long generation, String withdrawn, long settled) throws Exception {
    mux(id, generation, withdrawn, settled, "");
  }

  private void mux(String id, long generation, String withdrawn, long settled, String others)
      throws Exception {
    String path = "/fairlead/muxes/" + id;
    byte[] node =
        """
        {"format": 1, "id": "%s", "version": "0.2.0", "address": "10.1.0.%s", "ports": [],
         "services": {"web": {"generation": %d, "state": "serving"%s, "settled": %d}%s}}
        """
            .formatted(id, id.substring(3), generation, withdrawn, settled, others)
            .getBytes(StandardCharsets.UTF_8);
    if (client.checkExists().forPath(path) == null) {
      client.create().forPath(path, "{\"format\":1}".getBytes(StandardCharsets.UTF_8));
      client.create().withMode(CreateMode.EPHEMERAL).forPath(path + "/live", node);
    } else {
      client.setData().forPath(path + "/live", node);
    }
  }

  private ServiceImage image() {
    return controller.plane().read("web", stored -> stored.image());
  }

  private long generation() {
    return image().ring().generation();
  }

  private void waitsFor(String... texts) {
    await()
        .atMost(SOON)
        .untilAsserted(
            () ->
                assertThat(
                        controller
                            .softState()
                            .settled()
                            .see(image())
                            .waitsOfGeneration(generation()))
                    .extracting(SettledMoves.Wait::text)
                    .containsExactly(texts));
  }

  /** What muxes are told of service 1. */
  private void isTold(long generation) throws Exception {
    assertThat(client.getData().forPath("/fairlead/settled"))
        .asString(StandardCharsets.UTF_8)
        .isEqualTo("{\"format\":1,\"services\":{\"1\":%d}}".formatted(generation));
  }

  @Test
  void nothingIsSettledBeforeMuxesHaveStoredIt() throws Exception {
    long first = generation();
    mux("mux1", first, "", first - 1);
    mux("mux2", first, "", first);
    waitsFor("mux1 has not stored generation %d".formatted(first), unknown());
    clock.set(NOW + QUIET);
    waitsFor("mux1 has not stored generation %d".formatted(first));
    assertThat(client.checkExists().forPath("/fairlead/settled")).isNull();
    mux("mux1", first, "", first);
    waitsFor();
    isTold(first);

    done(controller.backends().change("web", List.of(add(3)), WriteOptions.COMMIT));
    long second = generation();
    mux("mux1", second, "", second);
    mux("mux2", first, ", \"withdrawn\": \"behind\"", first);
    waitsFor("mux2 has just withdrawn", unknown());
    isTold(first);
    clock.set(NOW + 2 * QUIET);
    waitsFor("mux2 has not stored that generation %d is settled".formatted(second));
    isTold(second);

    controller.close(); // Another leader waits for the same, and lowers nothing.
    controller = lead("second");
    waitsFor("mux2 has just withdrawn", unknown());
    isTold(second);
    clock.set(NOW + 3 * QUIET);
    waitsFor("mux2 has not stored that generation %d is settled".formatted(second));
    mux("mux2", first, ", \"withdrawn\": \"settled\"", second);
    waitsFor();
    isTold(second);
  }

  private static String unknown() {
    return "some mux may be absent that this controller never saw";
  }

  /** It would still open connections of web there, as packets for the VIP come to it. */
  @Test
  void aMuxThatAnnouncesTheVipForAnotherServiceHasNotWithdrawn() throws Exception {
    ServiceSpec tls =
        ServiceSpec.builder()
            .name("tls")
            .vips(List.of("10.99.0.1"))
            .ports(List.of(new ServiceConfig.Port("tcp", 443)))
            .build();
    done(controller.services().createService(tls, WriteOptions.COMMIT));
    String other = ", \"tls\": {\"generation\": 1, \"state\": \"serving\"%s, \"settled\": 1}";
    long late = generation();
    done(controller.backends().change("web", List.of(add(3)), WriteOptions.COMMIT));
    String behind = ", \"withdrawn\": \"behind\"";
    mux("mux1", generation(), "", generation());
    mux("mux2", late, behind, generation(), other.formatted(""));
    String keeps = "mux2 has withdrawn, but announces VIPs of it for service 'tls'";
    waitsFor(keeps, unknown());
    clock.set(NOW + QUIET);
    waitsFor(keeps);
    mux("mux2", late, behind, generation(), other.formatted(behind));
    waitsFor("mux2 has just withdrawn");
    clock.set(NOW + QUIET + SettledMoves.MARGIN_SECONDS);
    waitsFor();
    isTold(generation());
  }

  /** What the leader does by itself raises it, and nothing of a service without a hold is due. */
  @Test
  void aReadRaisesNothing() throws Exception {
    long generation = generation();
    mux("mux1", generation, "", generation);
    clock.set(NOW + QUIET);
    ApiServer server =
        ApiServer.open(
            new Endpoint("127.0.0.1", 0),
            controller.plane(),
            Resources.of(controller),
            controller.metrics());
    try {
      ApiClient api = new ApiClient(server.listen());
      await()
          .during(Duration.ofSeconds(3))
          .atMost(SOON)
          .until(
              () -> {
                for (String read :
                    List.of(
                        "/v1/services/web/explain?protocol=tcp&source=10.2.1.2&sourcePort=1"
                            + "&destination=10.99.0.1&destinationPort=80",
                        "/v1/services/web/holds",
                        "/v1/drains")) {
                  assertThat(api.get(read).status()).isEqualTo(200);
                }
                return client.checkExists().forPath("/fairlead/settled") == null;
              });
    } finally {
      server.close();
    }
    waitsFor();
    isTold(generation);
  }

  @Test
  void aMalformedNodeIsReplaced() throws Exception {
    long generation = generation();
    mux("mux1", generation, "", generation);
    for (String malformed : List.of("{}", "null")) {
      client
          .create()
          .orSetData()
          .forPath("/fairlead/settled", malformed.getBytes(StandardCharsets.UTF_8));
      controller.close();
      controller = lead(malformed);
      waitsFor(unknown());
      clock.set(clock.seconds() + QUIET);
      waitsFor();
      isTold(generation);
    }
  }
}
