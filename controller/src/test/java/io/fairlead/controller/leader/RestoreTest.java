// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.another;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Requests;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.core.image.UpkeepState.Kind;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.explain.Explanation;
import io.fairlead.controller.resources.explain.Flow;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.upkeep.UpkeepOrder;
import io.fairlead.controller.resources.upkeep.UpkeepView;
import io.fairlead.controller.store.AuditEntry;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.repository.Backup;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cluster whose ZooKeeper is lost, rebuilt in an empty one. */
class RestoreTest {
  private static final long NOW = 1_700_000_000;

  @TempDir private Path directory;
  private final SettableClock clock = new SettableClock(NOW);
  private Duration muxesRegister = Duration.ZERO;
  private TestingServer server;
  private FairleadController controller;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    controller = lead();
  }

  @AfterEach
  void close() throws IOException {
    controller.close();
    server.close();
  }

  private ControllerOptions options() {
    return ControllerOptions.of(
            server.getConnectString(), FreePorts.nextAddress(), "/fairlead", "test", clock)
        .withClockCheck(false)
        .with(muxesRegister);
  }

  private FairleadController lead() throws Exception {
    FairleadController leading = Controllers.open(options());
    assertThat(leading.awaitLeader(Duration.ofSeconds(30))).isTrue();
    return leading;
  }

  /** Another, empty ZooKeeper. */
  private void loseZooKeeper() throws Exception {
    controller.close();
    server.close();
    server = TestZooKeeper.start();
  }

  private Backup read(byte[] json) throws IOException {
    return Backup.read(Files.write(directory.resolve("backup.json"), json));
  }

  private void restore(byte[] backup, String... withoutMuxes) throws IOException, StoreException {
    try (FairleadController restoring = Controllers.prepare(options())) {
      restoring.restore(read(backup).without(Set.of(withoutMuxes)));
    }
  }

  /** Two services, one of them with moves in an open window, and a removed id. */
  private void build() throws Exception {
    done(controller.services().createService(spec("gone", "10.99.0.9"), WriteOptions.COMMIT));
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.services().createService(spec("api", "10.99.0.2"), WriteOptions.COMMIT));
    done(controller.services().deleteService("gone", WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2), add(3)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
    done(
        controller
            .backends()
            .change("web", List.of(remove(3), weight(2, 50)), WriteOptions.COMMIT));
    done(controller.services().deleteService("api", WriteOptions.COMMIT));
    done(controller.services().createService(spec("api", "10.99.0.3"), WriteOptions.COMMIT));
    done(controller.services().deleteService("api", WriteOptions.COMMIT));
  }

  private List<Explanation> explanations() {
    return IntStream.range(0, 500)
        .mapToObj(
            port ->
                Shown.explain(
                    controller, "web", new Flow("tcp", "10.2.1.2", port, "10.99.0.1", 80)))
        .map(
            e ->
                new Explanation(
                    e.service(),
                    e.hash(),
                    e.steering(),
                    e.bucket(),
                    e.current(),
                    e.former(),
                    e.hold(),
                    e.kept(),
                    0,
                    e.arrays(),
                    e.second()))
        .toList();
  }

  @Test
  void isTheSameClusterWithTheSameBucketsAtHigherGenerations() throws Exception {
    build();
    List<Explanation> before = explanations();
    var runs = Shown.ring(controller, "web").runs();
    var backends = Shown.backends(controller, "web");
    long epoch = controller.plane().health().epoch();
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    assertThat(before).anyMatch(each -> !each.former().isEmpty());
    loseZooKeeper();
    restore(backup);
    controller = lead();
    assertThat(Shown.services(controller)).hasSize(1);
    assertThat(Shown.service(controller, "web").orElseThrow().config().id()).isEqualTo(2);
    assertThat(Shown.service(controller, "web").orElseThrow().generation()).isEqualTo(NOW + 1000);
    assertThat(explanations()).isEqualTo(before);
    assertThat(Shown.ring(controller, "web").runs()).usingRecursiveComparison().isEqualTo(runs);
    assertThat(Shown.backends(controller, "web")).isEqualTo(backends);
    assertThat(controller.plane().health().epoch()).isGreaterThan(epoch);
    JsonObject again =
        new JsonObject(
            new String(controller.backup().apply(Origin.ANONYMOUS), StandardCharsets.UTF_8));
    assertThat(again.getString("cluster")).isEqualTo(read(backup).cluster());
    done(controller.services().createService(spec("api", "10.99.0.2"), WriteOptions.COMMIT));
    assertThat(Shown.service(controller, "api").orElseThrow().config().id())
        .as("ids are handed out once, also those of deleted services")
        .isEqualTo(5);
    done(controller.backends().change("web", List.of(add(4)), WriteOptions.COMMIT));
    assertThat(Shown.service(controller, "web").orElseThrow().generation()).isEqualTo(NOW + 1001);
  }

  @Test
  void upkeepGoesOnWithItsSettingsAndMeasuredCosts() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.services().createService(spec("dns", "10.99.0.2"), WriteOptions.COMMIT));
    done(
        controller
            .backends()
            .change("web", List.of(add(1), add(2), add(3), add(4)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
    UpkeepOrder order =
        new UpkeepOrder(Kind.REBALANCE, 1.02, 20, Map.of(1, 300.0, 2, 100.0, 3, 100.0));
    done(controller.upkeeps().startUpkeep("web", order, WriteOptions.COMMIT));
    UpkeepView before = Shown.upkeep(controller, "web");
    assertThat(before.job().orElseThrow().progress().state()).isEqualTo("running");
    assertThat(before.costs()).hasSize(3);
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    assertThat(new JsonObject(new String(backup, StandardCharsets.UTF_8)).getJsonArray("services"))
        .extracting(service -> ((JsonObject) service).containsKey("upkeep"))
        .containsExactly(true, false);
    loseZooKeeper();
    restore(backup);
    controller = lead();
    assertThat(Shown.upkeep(controller, "web").job()).isEqualTo(before.job());
    assertThat(Shown.upkeep(controller, "web").costs()).isEqualTo(before.costs());
    assertThat(Shown.upkeep(controller, "dns").job()).isEmpty();
    clock.set(NOW + 2000);
    await()
        .atMost(Duration.ofSeconds(20))
        .until(
            () -> Shown.upkeep(controller, "web").job().orElseThrow().progress().iterations() >= 2);
    assertThat(Shown.upkeep(controller, "web").costs()).isEqualTo(before.costs());
  }

  /** From 2 to 3 to 1, both removed and held: their ids stay taken until the release. */
  @Test
  void heldBucketsStayHeldWithAllTheirOwners() throws Exception {
    ServiceSpec web = spec("web", "10.99.0.1").toBuilder().holdSeconds(7200).build();
    done(controller.services().createService(web, WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
    done(controller.backends().change("web", List.of(remove(2), add(3)), WriteOptions.COMMIT));
    clock.set(NOW + 2000);
    done(controller.backends().change("web", List.of(remove(3)), WriteOptions.COMMIT));
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    loseZooKeeper();
    clock.set(NOW + 5000);
    restore(backup);
    controller = lead();
    for (int id : new int[] {2, 3}) {
      assertThat(
              Requests.refusal(
                      controller
                          .backends()
                          .change("web", List.of(another(id)), WriteOptions.COMMIT))
                  .allowed())
          .startsWith("this one in %d s at most".formatted(id == 2 ? 3200 : 4200));
    }
    clock.set(NOW + 2000 + 7200);
    long restored = Shown.ring(controller, "web").generation();
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> Shown.ring(controller, "web").generation() > restored);
    done(controller.backends().change("web", List.of(add(2), add(3)), WriteOptions.COMMIT));
  }

  @Test
  void anAddressThatIsBothIsServedAsItWas() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
    JsonObject backup =
        new JsonObject(
            new String(controller.backup().apply(Origin.ANONYMOUS), StandardCharsets.UTF_8));
    JsonObject config = backup.getJsonArray("services").getJsonObject(0).getJsonObject("config");
    config.put("vips", List.of("10.99.0.1", "10.1.0.1"));
    loseZooKeeper();
    restore(backup.encode().getBytes(StandardCharsets.UTF_8));
    controller = lead();
    assertThat(Shown.service(controller, "web").orElseThrow().config().vips()).contains("10.1.0.1");
    assertThat(Shown.backends(controller, "web")).extracting("address").contains("10.1.0.1");
    done(
        controller
            .backends()
            .change("web", List.of(new Change.Weight(1, 50), add(3)), WriteOptions.COMMIT));
    ServiceSpec window = ServiceSpec.builder().windowSeconds(100).build();
    done(controller.services().changeService("web", window, Requests.FORCE));
    done(controller.backends().change("web", List.of(new Change.Remove(1)), WriteOptions.COMMIT));
  }

  /** The old node has older generations, for ids that services of the backup reuse. */
  @Test
  void whatWasSettledBeforeIsDeleted() throws Exception {
    build();
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    loseZooKeeper();
    try (CuratorFramework client =
        CuratorFrameworkFactory.newClient(server.getConnectString(), new RetryOneTime(1000))) {
      client.start();
      byte[] settled =
          "{\"format\":1,\"services\":{\"2\":4000000000}}".getBytes(StandardCharsets.UTF_8);
      client.create().creatingParentsIfNeeded().forPath("/fairlead/settled", settled);
      restore(backup);
      assertThat(client.checkExists().forPath("/fairlead/settled")).isNull();
    }
  }

  /** Servers drop what comes from a lower generation than they have seen. */
  @Test
  void theSameBackupTwiceStartsAboveWhatTheFirstRestoreHasCommitted() throws Exception {
    build();
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    loseZooKeeper();
    restore(backup);
    controller = lead();
    clock.set(clock.seconds() + 60);
    for (int weight = 1; weight <= 20; weight++) {
      done(controller.backends().change("web", List.of(weight(1, weight)), Requests.FORCE));
    }
    long seen = Shown.service(controller, "web").orElseThrow().generation();
    loseZooKeeper();
    restore(backup);
    controller = lead();
    assertThat(Shown.service(controller, "web").orElseThrow().generation())
        .isGreaterThan(seen)
        .isEqualTo(clock.seconds());
  }

  /** Which clocks and muxes there are, and at which generation a backup at 3 starts. */
  @Test
  void startsAboveTheBackupTheMuxesAndTheClock() throws Exception {
    build();
    Backup backup = read(controller.backup().apply(Origin.ANONYMOUS));
    Instant taken = Instant.parse(backup.taken());
    long seconds = taken.getEpochSecond();
    record Row(Instant now, Map<String, Long> applied, long starts) {}
    for (Row row :
        List.of(
            new Row(taken, Map.of(), seconds),
            new Row(taken.plusSeconds(86_400), Map.of(), seconds + 86_400),
            new Row(taken, Map.of("mux1", 2L), seconds),
            // a burst of commits since a restore, or a clock that was ahead at that restore
            new Row(taken, Map.of("mux1", seconds + 5), seconds + 5 + Backup.AHEAD),
            new Row(
                taken,
                Map.of("mux1", 2L, "mux2", seconds + Backup.TRUSTED),
                seconds + Backup.TRUSTED + Backup.AHEAD))) {
      Backup.Restored restored = backup.restored(row.now(), row.applied());
      assertThat(restored.services().get(0).ring().generation())
          .as(row.toString())
          .isEqualTo(row.starts())
          .isEqualTo(restored.firstGeneration());
    }
    assertThatThrownBy(() -> backup.restored(taken.minusSeconds(1), Map.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("this machine's clock is at 2023-11-14T22:29:59Z; allowed: after");
    assertThatThrownBy(() -> backup.restored(Instant.parse("2106-02-07T06:28:15Z"), Map.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("services would start at generation 4294967295")
        .hasMessageContaining("allowed: at most 4293967295");
    for (long generation :
        List.of(seconds + Backup.TRUSTED + 1, (1L << 32) - 2_000_001, (1L << 32) - 1)) {
      assertThatThrownBy(() -> backup.restored(taken, Map.of("mux1", 2L, "mux2", generation)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "--restore is refused: mux 'mux2' reports generation %d, and by the clock services start at %d; allowed: at most %d, a clock that is right, or --without-mux mux2, which leaves the mux out"
                  .formatted(generation, seconds, seconds + Backup.TRUSTED));
    }
  }

  /** It would end the services' generations for good, or keep the cluster from being restored. */
  @Test
  void aMuxThatReportsWhatCannotBeIsLeftOut() throws Exception {
    build();
    for (String id : List.of("mux1", "mux2")) {
      AddedMux added = new AddedMux(id, Optional.empty(), Optional.empty());
      done(controller.muxList().addMux(added, false, WriteOptions.COMMIT));
    }
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    loseZooKeeper();
    muxesRegister = Duration.ofSeconds(3);
    try (CuratorFramework mux = ZooKeeperClient.create(server.getConnectString())) {
      mux.start();
      String node =
          """
          {"format": 1, "id": "mux1", "version": "0.1.0", "ports": ["eth0"],
           "services": {"web": {"generation": 4294967295, "state": "serving"}}}\
          """;
      CompletableFuture<Void> registered =
          CompletableFuture.runAsync(() -> registerOnceAdded(mux, node));
      assertThatThrownBy(() -> restore(backup))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("mux 'mux1' reports generation 4294967295")
          .hasMessageContaining("--without-mux mux1");
      registered.join();
      assertThatThrownBy(() -> restore(backup, "mux3"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(
              "--without-mux 'mux3' is refused; allowed: a mux of the backup: mux1, mux2");
      restore(backup, "mux1");
    }
    controller = lead();
    assertThat(Shown.service(controller, "web").orElseThrow().generation()).isEqualTo(NOW + 1000);
    await()
        .until(
            () ->
                controller.muxList().all().stream()
                    .map(MuxView::id)
                    .toList()
                    .equals(List.of("mux2")));
  }

  /** A mux that is in the backup writes its node as soon as it may. */
  @Test
  void asksTheMuxesHowFarTheyAre() throws Exception {
    build();
    AddedMux added = new AddedMux("mux1", Optional.empty(), Optional.empty());
    done(controller.muxList().addMux(added, false, WriteOptions.COMMIT));
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    loseZooKeeper();
    muxesRegister = Duration.ofSeconds(3);
    long applied = NOW + 5_000_000;
    try (CuratorFramework mux = ZooKeeperClient.create(server.getConnectString())) {
      mux.start();
      String node =
          """
          {"format": 1, "id": "mux1", "version": "0.1.0", "ports": ["eth0"],
           "services": {"web": {"generation": %d, "state": "serving"}}}\
          """
              .formatted(applied);
      CompletableFuture<Void> registered =
          CompletableFuture.runAsync(() -> registerOnceAdded(mux, node));
      restore(backup);
      registered.join();
    }
    controller = lead();
    assertThat(Shown.service(controller, "web").orElseThrow().generation())
        .isEqualTo(applied + Backup.AHEAD);
  }

  private static void registerOnceAdded(CuratorFramework mux, String node) {
    String entry = new Tree("/fairlead").mux("mux1");
    await().atMost(Duration.ofSeconds(60)).until(() -> mux.checkExists().forPath(entry) != null);
    try {
      Muxes.write(mux, entry, node);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void leavesAnAuditRecordOfEachService() throws Exception {
    build();
    done(controller.services().createService(spec("dns", "10.99.0.4"), WriteOptions.COMMIT));
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    loseZooKeeper();
    restore(backup);
    controller = lead();
    List<AuditEntry> entries =
        controller.audit().page(OptionalLong.empty(), 10).entries().stream()
            .map(Journal.Numbered::entry)
            .toList();
    assertThat(entries)
        .extracting(entry -> entry.service().orElseThrow())
        .containsExactly("dns", "web");
    assertThat(entries)
        .allSatisfy(
            entry -> {
              assertThat(entry.who()).isEqualTo("controller");
              assertThat(entry.what()).isEqualTo("restore of the backup of 2023-11-14T22:30:00Z");
              assertThat(entry.epoch()).isEqualTo(2);
            });
    assertThat(entries.get(1).generation()).isEqualTo(NOW + 1000);
  }

  @Test
  void onlyIntoAnEmptyZooKeeperAndWithoutControllers() throws Exception {
    build();
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    assertThatThrownBy(() -> restore(backup))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("holds 1 services; allowed: a ZooKeeper without services");
    done(controller.services().deleteService("web", WriteOptions.COMMIT));
    assertThatThrownBy(() -> restore(backup))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1 controllers are running; allowed: none");
    controller.close();
    restore(backup);
    controller = lead();
    assertThat(Shown.services(controller)).hasSize(1);
  }

  /** Until it is repeated no controller leads, and the tree does not have the cluster's name. */
  @Test
  void whatWasBrokenOffIsRepeated() throws Exception {
    build();
    done(controller.services().createService(spec("dns", "10.99.0.4"), WriteOptions.COMMIT));
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    String cluster = read(backup).cluster();
    loseZooKeeper();
    restore(backup);
    Tree tree = new Tree("/fairlead");
    try (CuratorFramework client = ZooKeeperClient.create(server.getConnectString())) {
      client.start();
      // As if it had ended before its last step, in the middle of a service.
      client.create().forPath(tree.restoring(), new byte[0]);
      client.setData().forPath(tree.cluster(), new byte[] {'x'});
      client.delete().forPath(tree.config("dns"));
      controller = Controllers.open(options());
      assertThat(controller.awaitLeader(Duration.ofSeconds(2))).isFalse();
      controller.close();
      restore(backup);
      assertThat(client.checkExists().forPath(tree.restoring())).isNull();
      assertThat(new String(client.getData().forPath(tree.cluster()), StandardCharsets.US_ASCII))
          .isEqualTo(cluster);
    }
    controller = lead();
    assertThat(Shown.services(controller)).hasSize(2);
    assertThat(Shown.backends(controller, "web")).hasSize(2);
  }

  /** Servers may have seen more of a free id than the backup knows: it is free a day later. */
  @Test
  void idsThatWereFreeAreSoADayAfterTheRestore() throws Exception {
    build();
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    int web = Shown.config(controller, "web").id();
    assertThat(read(backup).serviceIds().last()).isEqualTo(4);
    loseZooKeeper();
    clock.set(NOW + 2000);
    restore(backup);
    controller = lead();
    long first = Shown.service(controller, "web").orElseThrow().generation();
    done(controller.services().createService(spec("dns", "10.99.0.4"), WriteOptions.COMMIT));
    assertThat(Shown.config(controller, "dns").id()).isEqualTo(5);
    clock.set(NOW + 2000 + 86_400);
    Set<Integer> again = new HashSet<>();
    for (int i = 5; i < 9; i++) {
      String name = "s" + i;
      done(controller.services().createService(spec(name, "10.99.0." + i), WriteOptions.COMMIT));
      again.add(Shown.config(controller, name).id());
      assertThat(Shown.service(controller, name).orElseThrow().generation())
          .isGreaterThanOrEqualTo(first);
    }
    assertThat(again).doesNotContain(web).containsExactlyInAnyOrder(1, 3, 4, 6);
  }

  @Test
  void aDamagedBackupIsRefusedBeforeAnythingIsWritten() throws Exception {
    build();
    String whole = new String(controller.backup().apply(Origin.ANONYMOUS), StandardCharsets.UTF_8);
    JsonObject web = new JsonObject(whole).getJsonArray("services").getJsonObject(0);
    String snapshot = web.getString("snapshot");
    record Row(String name, String json, String says) {}
    for (Row row :
        List.of(
            new Row("empty", "", "it is empty"),
            new Row("cut off", whole.substring(0, whole.length() / 2), "end-of-input"),
            new Row(
                "of an older version",
                whole
                    .replace("\"format\":3,\"clu", "\"format\":2,\"clu")
                    .replace("\"snapshot\"", "\"earlier\":\"\",\"snapshot\""),
                "its format is 2, not 3"),
            new Row("no cluster", whole.replaceFirst("[0-9a-f]{32}", "x"), "cluster is 'x'"),
            new Row(
                "upkeep", whole.replace("\"snapshot\"", "\"upkeep\":{},\"snapshot\""), "upkeep"),
            new Row("missing field", whole.replaceFirst("taken", "token"), "'taken'"),
            new Row("unknown field", whole.replaceFirst("[{]", "{\"extra\":2,"), "\"extra\""),
            new Row(
                "bit",
                whole.replace(snapshot, "RkxT" + "A" + snapshot.substring(5)),
                "service 'web'"),
            new Row("generation", whole.replace("generation\":3", "generation\":4"), "generation"),
            new Row("buckets", whole.replace("buckets\":1024", "buckets\":2048"), "buckets"))) {
      assertThat(row.json()).as(row.name()).isNotEqualTo(whole);
      assertThatThrownBy(() -> read(row.json().getBytes(StandardCharsets.UTF_8)))
          .as(row.name())
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("--restore '")
          .hasMessageContaining(row.says());
    }
    assertThatThrownBy(() -> Backup.read(directory.resolve("nowhere")))
        .hasMessageContaining("nowhere");
  }
}
