// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.Drain.Then;
import io.fairlead.controller.resources.agents.BucketSetCodec;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.health.HealthDecision.State;
import io.fairlead.controller.resources.health.HealthView;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import java.time.Duration;
import java.time.InstantSource;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Backends go out of service and come back by nodes of probes, on a real ZooKeeper. */
class HealthServiceTest {
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final int SETTLE_MILLIS = 1500;
  private static final Duration DEAD_AFTER = Duration.ofSeconds(2);

  private TestingServer zookeeper;
  private CuratorFramework client;
  private FairleadController controller;
  private boolean isSilent;
  private final Reports reports = new Reports();

  @BeforeEach
  void open() throws Exception {
    zookeeper = TestZooKeeper.start();
    client = ZooKeeperClient.create(zookeeper.getConnectString());
    client.start();
    controller = open("first");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(
        controller
            .backends()
            .change("web", List.of(add(1), add(2), add(3), add(4)), WriteOptions.COMMIT));
    check(Optional.of("tcp"));
    for (String mux : List.of("mux1", "mux2", "mux3")) {
      Muxes.write(client, "/fairlead/muxes/" + mux, mux(mux));
    }
  }

  @AfterEach
  void close() throws Exception {
    controller.close();
    client.close();
    zookeeper.close();
  }

  private FairleadController open(String id) throws Exception {
    return Controllers.open(
        ControllerOptions.of(
                zookeeper.getConnectString(),
                FreePorts.nextAddress(),
                "/fairlead",
                id,
                InstantSource.system())
            .withHealthSettle(Duration.ofMillis(SETTLE_MILLIS))
            .withDeadAfter(DEAD_AFTER));
  }

  private void check(Optional<String> kind) throws Exception {
    check(kind, Optional.empty());
  }

  private void check(Optional<String> kind, Optional<Boolean> dead) throws Exception {
    done(
        controller
            .services()
            .changeService(
                "web",
                ServiceSpec.builder().healthCheck(health(kind, dead)).build(),
                WriteOptions.COMMIT));
  }

  static ServiceSpec.Health health(Optional<String> kind, Optional<Boolean> dead) {
    return new ServiceSpec.Health(
        kind,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.of(
            new ServiceSpec.HealthAction(
                Optional.empty(), Optional.empty(), Optional.empty(), dead)));
  }

  private static String mux(String id) {
    return "{\"format\":1,\"id\":\"%s\",\"version\":\"1\",\"address\":\"10.1.0.11\",\"ports\":[],\"services\":{}}"
        .formatted(id);
  }

  private static String ids(List<Integer> ids) {
    BitSet set = new BitSet();
    ids.forEach(set::set);
    return BucketSetCodec.encode(set);
  }

  /** The probe of {@code mux} finds these down, and the others of 1..4 up. */
  private void probe(String mux, Integer... down) throws Exception {
    List<Integer> bad = List.of(down);
    ObjectNode node = new ObjectMapper().createObjectNode();
    node.put("format", 1).put("id", mux).put("version", "1");
    ObjectNode web = node.putObject("services").putObject("web");
    int serviceId = controller.plane().read("web", stored -> stored.image().config().id());
    web.put("id", serviceId);
    web.put("config", client.checkExists().forPath("/fairlead/services/web/config").getMtime());
    web.put("kind", "tcp");
    web.put("up", ids(List.of(1, 2, 3, 4).stream().filter(id -> !bad.contains(id)).toList()));
    if (bad.isEmpty()) {
      web.putArray("down");
    } else {
      web.putArray("down")
          .addObject()
          .put("reason", "refused")
          .put("vip", "10.99.0.1")
          .put("protocol", "tcp")
          .put("port", 80)
          .put("backends", ids(bad));
    }
    web.put("silent", isSilent ? ids(bad) : "");
    Muxes.write(client, "/fairlead/health/" + mux, node.toString());
  }

  private void probesSilent(int id) throws Exception {
    isSilent = true;
    probes(id);
    isSilent = false;
  }

  /** The agents of these report. */
  private void report(Integer... ids) {
    for (int id : ids) {
      reports.from(controller, id);
    }
  }

  private State state(int id) {
    return controller.probes().views().get().stream()
        .flatMap(view -> view.backends().stream())
        .filter(backend -> backend.backend() == id)
        .map(HealthView.Backend::state)
        .findFirst()
        .orElse(State.UNKNOWN);
  }

  /** Agents of living servers report meanwhile. */
  private void awaitState(int id, State wanted, Integer... living) {
    await()
        .atMost(SOON)
        .until(
            () -> {
              report(living);
              return state(id) == wanted;
            });
  }

  private boolean isInPool(int id) {
    return Shown.backends(controller, "web").stream().anyMatch(view -> view.id() == id);
  }

  private void probes(Integer... down) throws Exception {
    for (String mux : List.of("mux1", "mux2", "mux3")) {
      probe(mux, down);
    }
  }

  private BackendView backend(int id) {
    return Shown.backends(controller, "web").stream()
        .filter(view -> view.id() == id)
        .findFirst()
        .orElseThrow();
  }

  private List<Integer> unhealthy() {
    return Shown.backends(controller, "web").stream()
        .filter(view -> view.state().equals("unhealthy"))
        .map(BackendView::id)
        .toList();
  }

  private void awaitUnhealthy(Integer... ids) {
    await().atMost(SOON).until(() -> unhealthy().equals(List.of(ids)));
  }

  private String latestWho() {
    return controller.audit().page(OptionalLong.empty(), 1).entries().get(0).entry().who();
  }

  /** Waits until the leader has looked {@code times} times more. */
  private void looks(int times) throws Exception {
    for (int i = 0; i < times; i++) {
      var before = controller.probes().views().get();
      await().atMost(SOON).until(() -> controller.probes().views().get() != before);
    }
  }

  private long generation() {
    return controller.plane().read("web", stored -> stored.image().ring().generation());
  }

  @Test
  void mostProbesTakeABackendOutAndBackWithItsWeight() throws Exception {
    done(
        controller
            .backends()
            .change("web", List.of(new Change.Weight(2, 70)), WriteOptions.COMMIT));
    probes();
    await()
        .atMost(SOON)
        .until(() -> controller.probes().views().get().stream().anyMatch(view -> view.acting()));
    long before = generation();
    probe("mux1", 2);
    looks(3);
    assertThat(generation()).as("one probe's verdict").isEqualTo(before);
    probe("mux2", 2);
    awaitUnhealthy(2);
    assertThat(latestWho()).isEqualTo("health");
    assertThat(backend(2).weight()).isEqualTo(70);
    assertThat(backend(2).buckets()).isZero();
    done(
        controller
            .backends()
            .change("web", List.of(new Change.Weight(2, 80)), WriteOptions.COMMIT));
    assertThat(unhealthy()).as("a weight is for the return").containsExactly(2);
    assertThat(backend(2).buckets()).isZero();
    probes();
    awaitUnhealthy();
    assertThat(backend(2).weight()).isEqualTo(80);
    assertThat(backend(2).buckets()).isPositive();
    assertThat(controller.probes().views().get().get(0).history()).isNotEmpty();
  }

  @Test
  void aNewLeaderAndAnOutageOfZooKeeperFlipNothing() throws Exception {
    probes(3);
    awaitUnhealthy(3);
    long before = generation();
    FairleadController next = open("next");
    await().until(next::isServing);
    controller.close();
    controller = next;
    assertThat(controller.awaitLeader(SOON)).isTrue();
    await()
        .atMost(SOON)
        .until(() -> controller.probes().views().get().stream().anyMatch(view -> view.acting()));
    looks(3);
    assertThat(unhealthy()).containsExactly(3);
    zookeeper.restart();
    await().atMost(SOON).until(() -> controller.plane().health().zookeeper().equals("connected"));
    looks(4);
    assertThat(unhealthy()).containsExactly(3);
    assertThat(generation()).isEqualTo(before);
  }

  @Test
  void aServerThatIsSilentIsRemovedAsDeadAndComesBackWithItsWeight() throws Exception {
    done(
        controller
            .backends()
            .change("web", List.of(new Change.Weight(2, 70)), WriteOptions.COMMIT));
    probes();
    check(Optional.of("tcp"), Optional.of(true));
    report(1, 2, 3, 4);
    probesSilent(2);
    awaitUnhealthy(2);
    assertThat(isInPool(2)).isTrue();
    awaitState(2, State.DEAD, 1, 3, 4);
    assertThat(latestWho()).isEqualTo("health");
    assertThat(controller.audit().page(OptionalLong.empty(), 9).entries())
        .anyMatch(each -> each.entry().toString().contains("removed as dead: backend 2"));
    FairleadController next = open("next");
    await().until(next::isServing);
    controller.close();
    controller = next; // which may have to bring it into the pool again
    assertThat(controller.awaitLeader(SOON)).isTrue();
    await().atMost(SOON).until(() -> isInPool(2) && state(2) == State.DEAD);
    assertThat(backend(2).weight()).isEqualTo(70);
    assertThat(backend(2).buckets()).isZero();
    long before = generation();
    probesSilent(2);
    looks(4);
    assertThat(generation()).as("dead once").isEqualTo(before);
    probes();
    await().atMost(SOON).until(() -> state(2) == State.HEALTHY);
    assertThat(backend(2).weight()).isEqualTo(70);
    assertThat(backend(2).buckets()).isPositive();
  }

  @Test
  void nobodyIsDeadWhoseAgentWasNeverHeardOrIsTheOnlyOne() throws Exception {
    probes();
    check(Optional.of("tcp"), Optional.of(true));
    report(2);
    probesSilent(3);
    awaitUnhealthy(3);
    looks(4);
    probesSilent(2);
    await().atMost(SOON).until(() -> state(2) == State.OUT);
    looks(4);
    assertThat(isInPool(3)).isTrue();
    assertThat(isInPool(2)).as("no other agent reports").isTrue();
    report(3);
    await().atMost(SOON).until(() -> !isInPool(2));
    check(Optional.of("none"));
    await().atMost(SOON).until(() -> isInPool(2) && backend(2).buckets() > 0);
    assertThat(unhealthy()).isEmpty();
  }

  @Test
  void panicHoldsDrainsAndAnEndOfTheCheckBringThemBack() throws Exception {
    probes(1, 2);
    awaitUnhealthy(1, 2);
    done(controller.probes().holds().holdHealth("web", List.of(1), true, WriteOptions.COMMIT));
    assertThat(unhealthy()).containsExactly(2);
    done(controller.probes().holds().holdHealth("web", List.of(1), false, WriteOptions.COMMIT));
    awaitUnhealthy(1, 2);
    DrainOrder drain = new DrainOrder(List.of(2), Optional.of(7200), Then.KEEP);
    done(controller.drains().drain("web", drain, WriteOptions.COMMIT));
    assertThat(unhealthy()).containsExactly(1);
    assertThat(backend(2).drain().orElseThrow().weight()).isEqualTo(100);
    done(controller.drains().undrain("web", List.of(2), WriteOptions.COMMIT));
    check(Optional.of("none"));
    awaitUnhealthy();
    assertThat(backend(2).weight()).isEqualTo(100);
    assertThat(latestWho()).isEqualTo("health");
    check(Optional.of("tcp"));
    probes(1, 2, 3);
    await()
        .atMost(SOON)
        .until(() -> controller.probes().views().get().stream().anyMatch(view -> view.panic()));
    assertThat(unhealthy()).isEmpty();
  }
}
