// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.service.Requests.add;
import static io.fairlead.controller.service.Requests.done;
import static io.fairlead.controller.service.Requests.refusal;
import static io.fairlead.controller.service.Requests.remove;
import static io.fairlead.controller.service.Requests.spec;
import static io.fairlead.controller.service.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.backends.BackendView;
import io.fairlead.controller.backends.Change;
import io.fairlead.controller.explain.Explanation;
import io.fairlead.controller.explain.Flow;
import io.fairlead.controller.explain.RingView;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.Share;
import io.fairlead.controller.services.Port;
import io.fairlead.controller.services.ServiceChange;
import io.fairlead.controller.services.ServiceSpec;
import io.fairlead.controller.services.ServiceView;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.Test;

/** The control plane as a whole, on a real embedded ZooKeeper. */
class FairleadControllerTest extends EmbeddedController {
  private static final int WINDOW = 240;

  private void restart() throws Exception {
    controller.close();
    open();
  }

  @Test
  void aServiceIsCreatedAndItsPoolShared() throws Exception {
    Result created = done(controller.createService(spec("web", "10.99.0.1"), false));
    assertThat(created.generation()).isEqualTo(1);
    Result added = done(controller.change("web", List.of(add(1), add(2), add(3), add(4)), false));
    assertThat(added.generation()).isEqualTo(2);
    assertThat(added.movedBuckets()).isEqualTo(1024);
    assertThat(added.moves()).hasSize(4);
    assertThat(added.shares())
        .containsExactly(
            new Share(1, 100, 0, 256),
            new Share(2, 100, 0, 256),
            new Share(3, 100, 0, 256),
            new Share(4, 100, 0, 256));
    ServiceView view = controller.service("web").orElseThrow();
    assertThat(view.id()).isEqualTo(1);
    assertThat(view.generation()).isEqualTo(2);
    assertThat(view.backends()).isEqualTo(4);
    assertThat(controller.ring("web").runs()).hasSize(4);
    assertThat(controller.backends("web").get(0))
        .isEqualTo(new BackendView(1, "10.1.0.1", 100, "active", 256));
  }

  @Test
  void tenThousandChangesAreOneGeneration() throws Exception {
    done(controller.createService(Requests.sized("web", "10.99.0.1", 1 << 20), false));
    List<Change> all = IntStream.rangeClosed(1, 10_000).mapToObj(Requests::add).toList();
    Result added = done(controller.change("web", all, false));
    assertThat(added.generation()).isEqualTo(2);
    assertThat(added.movedBuckets()).isEqualTo(1 << 20);
    List<Change> mixed =
        IntStream.rangeClosed(1, 10_000)
            .mapToObj(id -> id % 2 == 0 ? Requests.remove(id) : weight(id, 1 + id % 7))
            .toList();
    Result changed = done(controller.change("web", mixed, false));
    assertThat(changed.generation()).isEqualTo(3);
    assertThat(changed.moves()).hasSize(4096);
    assertThat(changed.shares()).hasSize(10_000);
    assertThat(controller.backends("web")).hasSize(5_000);
    restart();
    assertThat(controller.service("web").orElseThrow().generation()).isEqualTo(3);
    assertThat(controller.backends("web")).hasSize(5_000);
    assertThat(controller.backends("web").get(1).weight()).isEqualTo(4);
  }

  @Test
  void aDryRunSaysWhatACommitDoes() throws Exception {
    List<List<Change>> steps =
        List.of(
            List.of(add(1), add(2), add(3)),
            List.of(weight(2, 0)),
            List.of(remove(2), weight(1, 300)),
            List.of(weight(1, 300)));
    assertThat(done(controller.createService(spec("web", "10.99.0.1"), true)).dryRun()).isTrue();
    assertThat(controller.services()).isEmpty();
    done(controller.createService(spec("web", "10.99.0.1"), false));
    for (List<Change> step : steps) {
      clock.set(clock.seconds() + 10);
      long before = controller.service("web").orElseThrow().generation();
      Result planned = done(controller.change("web", step, true));
      assertThat(controller.service("web").orElseThrow().generation()).isEqualTo(before);
      Result committed = done(controller.change("web", step, false));
      assertThat(planned).usingRecursiveComparison().ignoringFields("dryRun").isEqualTo(committed);
      assertThat(committed.generation()).isEqualTo(committed.changed() ? before + 1 : before);
    }
    assertThat(done(controller.deleteService("web", true)).dryRun()).isTrue();
    assertThat(controller.services()).hasSize(1);
  }

  @Test
  void bucketsThatMoveTwiceInTheWindowAreCounted() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    done(controller.change("web", List.of(add(1)), false));
    clock.set(NOW + 1000);
    assertThat(done(controller.change("web", List.of(add(2)), false)).stillChained()).isZero();
    clock.set(NOW + 1000 + WINDOW - 1);
    assertThat(done(controller.change("web", List.of(weight(2, 0)), true)).stillChained())
        .isEqualTo(512);
    clock.set(NOW + 1000 + WINDOW);
    assertThat(done(controller.change("web", List.of(weight(2, 0)), true)).stillChained()).isZero();
  }

  @Test
  void idsAndAddressesComeBackOnceTheirWindowIsClosed() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    done(controller.change("web", List.of(add(1), add(2)), false));
    clock.set(NOW + 1000);
    done(controller.change("web", List.of(remove(2)), false));
    clock.set(NOW + 1100);
    Refusal id = refusal(controller.change("web", List.of(add(2)), false));
    assertThat(id.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(id.field()).isEqualTo("id");
    assertThat(id.allowed()).contains("140 s");
    Refusal address =
        refusal(controller.change("web", List.of(new Change.Add(3, "10.1.0.2", 100)), false));
    assertThat(address.field()).isEqualTo("address");
    assertThat(address.allowed()).contains("140 s");
    restart();
    assertThat(refusal(controller.change("web", List.of(add(2)), false)).allowed())
        .contains("140 s");
    clock.set(NOW + 1000 + WINDOW);
    assertThat(done(controller.change("web", List.of(add(2)), false)).movedBuckets())
        .isEqualTo(512);
    Refusal inOneList =
        refusal(
            controller.change("web", List.of(remove(1), new Change.Add(4, "10.1.0.1", 1)), false));
    assertThat(inOneList.allowed()).contains("240 s");
  }

  @Test
  void timeDoesNotGoBackWithTheClock() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    done(controller.change("web", List.of(add(1)), false));
    clock.set(NOW - 5000);
    done(controller.change("web", List.of(add(2)), false));
    restart();
    Explanation explanation = controller.explain("web", flow("198.51.100.7", 49152));
    assertThat(explanation.since()).isGreaterThanOrEqualTo(NOW);
  }

  @Test
  void explainAgreesWithTheRing() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    done(controller.change("web", List.of(add(1), add(2), add(3)), false));
    clock.set(NOW + 1000);
    done(controller.change("web", List.of(remove(3)), false));
    RingView ring = controller.ring("web");
    Set<Integer> previous = new TreeSet<>();
    for (int port = 1024; port < 1324; port++) {
      Explanation explanation = controller.explain("web", flow("198.51.100.7", port));
      int owner = explanation.current().orElseThrow().id();
      int bucket = explanation.bucket().orElseThrow();
      assertThat(ring.runs().get(owner))
          .anyMatch(run -> run[0] <= bucket && bucket < run[0] + run[1]);
      assertThat(bucket).isEqualTo((int) (explanation.hash() & 1023));
      assertThat(explanation.moved()).isEqualTo(explanation.previous().isPresent());
      explanation.previous().ifPresent(from -> previous.add(from.id()));
    }
    assertThat(previous).containsExactly(3);
  }

  @Test
  void aRestartLosesNothing() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    done(controller.createService(spec("dns", "10.99.0.2"), false));
    for (int id = 1; id <= 30; id++) {
      clock.set(clock.seconds() + 1);
      done(controller.change("web", List.of(add(id)), false));
    }
    done(
        controller.changeService(
            "web",
            new ServiceChange(
                Optional.of(List.of("10.99.0.7", "2001:db8::7")),
                Optional.empty(),
                Optional.of(60)),
            false));
    List<ServiceView> services = controller.services();
    List<BackendView> backends = controller.backends("web");
    RingView ring = controller.ring("web");
    long epoch = controller.health().epoch();
    restart();
    assertThat(controller.services()).isEqualTo(services);
    assertThat(controller.backends("web")).isEqualTo(backends);
    assertThat(controller.ring("web")).usingRecursiveComparison().isEqualTo(ring);
    assertThat(controller.health().epoch()).isEqualTo(epoch + 1);
    assertThat(services.get(1).windowSeconds()).isEqualTo(60);
  }

  @Test
  void idsOfServicesAreHandedOutOnce() throws Exception {
    done(controller.createService(spec("a", "10.99.0.1"), false));
    done(controller.createService(spec("b", "10.99.0.2"), false));
    done(controller.change("b", List.of(add(1)), false));
    done(controller.deleteService("b", false));
    assertThat(controller.services()).extracting(ServiceView::name).containsExactly("a");
    done(controller.createService(spec("b", "10.99.0.2"), false));
    assertThat(controller.service("b").orElseThrow().id()).isEqualTo(3);
    assertThat(controller.service("b").orElseThrow().backends()).isZero();
    restart();
    done(controller.createService(spec("c", "10.99.0.3"), false));
    assertThat(controller.service("c").orElseThrow().id()).isEqualTo(4);
  }

  @Test
  void servicesMayShareAVipOnDifferentPorts() throws Exception {
    done(controller.createService(spec("a", "10.99.0.1"), false));
    Refusal taken = refusal(controller.createService(spec("b", "10.99.0.1"), false));
    assertThat(taken.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(taken.value()).isEqualTo("10.99.0.1 tcp:80");
    done(controller.createService(spec("b", "10.99.0.2"), false));
    ServiceChange sameVip =
        new ServiceChange(Optional.of(List.of("10.99.0.1")), Optional.empty(), Optional.empty());
    assertThat(refusal(controller.changeService("b", sameVip, false)).kind())
        .isEqualTo(Refusal.Kind.CONFLICT);
    ServiceChange otherPort =
        new ServiceChange(
            Optional.of(List.of("10.99.0.1")),
            Optional.of(List.of(new Port("udp", 80), new Port("tcp", 443))),
            Optional.empty());
    done(controller.changeService("b", otherPort, false));
    assertThat(controller.service("b").orElseThrow().vips()).containsExactly("10.99.0.1");
  }

  @Test
  void muxesAreWatched() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    try (CuratorFramework mux =
        CuratorFrameworkFactory.newClient(controller.zookeeper(), new RetryOneTime(100))) {
      mux.start();
      String node =
          """
          {"format": 1, "id": "mux1", "version": "0.1.0", "address": "10.1.0.11",
           "ports": ["eth0"], "services": {"web": {"generation": %d, "state": "serving"}}}
          """;
      mux.create()
          .withMode(CreateMode.EPHEMERAL)
          .forPath("/fairlead/muxes/mux1", node.formatted(1).getBytes(StandardCharsets.UTF_8));
      await().untilAsserted(() -> assertThat(controller.muxes()).hasSize(1));
      done(controller.change("web", List.of(add(1)), false));
      assertThat(controller.metrics().scrape())
          .contains("fairlead_controller_generation{service=\"web\"} 2.0")
          .contains("fairlead_controller_mux_lag_generations{mux=\"mux1\",service=\"web\"} 1.0")
          .contains("fairlead_controller_commits_total{service=\"web\"} 1.0")
          .contains("fairlead_controller_leader 1.0");
      mux.setData()
          .forPath("/fairlead/muxes/mux1", node.formatted(2).getBytes(StandardCharsets.UTF_8));
      await()
          .untilAsserted(
              () ->
                  assertThat(controller.muxes().get(0).services().get("web").generation())
                      .isEqualTo(2));
      mux.setData().forPath("/fairlead/muxes/mux1", "{".getBytes(StandardCharsets.UTF_8));
      await().untilAsserted(() -> assertThat(controller.muxes()).isEmpty());
    }
  }

  @Test
  void manySmallChangesLeaveFewGenerations() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    for (int i = 1; i <= 40; i++) {
      done(
          controller.change(
              "web", i == 1 ? List.of(add(1), add(2)) : List.of(weight(1, i)), false));
    }
    try (CuratorFramework client =
        CuratorFrameworkFactory.newClient(controller.zookeeper(), new RetryOneTime(100))) {
      client.start();
      await()
          .untilAsserted(
              () -> {
                List<String> kept =
                    new ArrayList<>(
                        client.getChildren().forPath("/fairlead/services/web/ring/gen"));
                assertThat(kept).contains("0000000041").hasSizeBetween(16, 30);
              });
    }
  }

  @Test
  void aBadSpecificationIsRefusedByFieldAndValue() throws Exception {
    ServiceSpec good = spec("web", "10.99.0.1");
    record Row(ServiceSpec spec, String field, String value) {}
    List<Row> rows =
        List.of(
            new Row(spec("Web", "10.99.0.1"), "name", "Web"),
            new Row(spec("-web", "10.99.0.1"), "name", "-web"),
            new Row(spec("w".repeat(64), "10.99.0.1"), "name", "w".repeat(64)),
            new Row(spec("web", "10.99.0"), "vips", "10.99.0"),
            new Row(spec("web", "224.0.0.1"), "vips", "224.0.0.1"),
            new Row(spec("web", "localhost"), "vips", "localhost"),
            new Row(with(good, List.of(), good.ports()), "vips", "0 addresses"),
            new Row(
                with(good, List.of("10.99.0.1", "10.99.0.1"), good.ports()), "vips", "10.99.0.1"),
            new Row(with(good, good.vips(), List.of()), "ports", "0 ports"),
            new Row(
                with(good, good.vips(), List.of(new Port("sctp", 1))), "ports.protocol", "sctp"),
            new Row(with(good, good.vips(), List.of(new Port("tcp", 0))), "ports.port", "0"),
            new Row(
                with(good, good.vips(), List.of(new Port("tcp", 65536))), "ports.port", "65536"),
            new Row(
                with(good, good.vips(), List.of(new Port("tcp", 1), new Port("tcp", 1))),
                "ports",
                "tcp:1"),
            new Row(sized(good, 0, null), "maxBackends", "0"),
            new Row(sized(good, 65536, null), "maxBackends", "65536"),
            new Row(sized(good, null, 255), "buckets", "255"),
            new Row(sized(good, null, 16777216), "buckets", "16777216"),
            new Row(sized(good, 10, 1024), "buckets", "1024"),
            new Row(hashed(good, "md5", null, "connection", 240), "hash", "md5"),
            new Row(hashed(good, "crc32", "xyz", "connection", 240), "hashKey", "xyz"),
            new Row(hashed(good, "crc32", null, "server", 240), "affinity", "server"),
            new Row(hashed(good, "crc32", null, "client", 0), "windowSeconds", "0"),
            new Row(hashed(good, "crc32", null, "client", 86401), "windowSeconds", "86401"));
    for (Row row : rows) {
      Refusal refusal = refusal(controller.createService(row.spec(), false));
      assertThat(refusal.kind()).isEqualTo(Refusal.Kind.INVALID);
      assertThat(refusal.field()).isEqualTo(row.field());
      assertThat(refusal.value()).isEqualTo(row.value());
      assertThat(refusal.allowed()).isNotBlank();
    }
    assertThat(controller.services()).isEmpty();
    done(controller.createService(sized(good, 100, null), false));
    assertThat(controller.service("web").orElseThrow().buckets()).isEqualTo(16384);
    assertThat(refusal(controller.createService(good, false)).field()).isEqualTo("name");
  }

  @Test
  void aBadChangeIsRefusedAndNothingOfItsListIsDone() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    done(controller.change("web", List.of(add(1), add(2)), false));
    record Row(Change change, Refusal.Kind kind, String field, String value) {}
    List<Row> rows =
        List.of(
            new Row(add(0), Refusal.Kind.INVALID, "id", "0"),
            new Row(add(65536), Refusal.Kind.INVALID, "id", "65536"),
            new Row(weight(-1, 1), Refusal.Kind.INVALID, "id", "-1"),
            new Row(new Change.Add(3, "10.1.0.3", 65536), Refusal.Kind.INVALID, "weight", "65536"),
            new Row(new Change.Add(3, "10.1.0.3", -1), Refusal.Kind.INVALID, "weight", "-1"),
            new Row(new Change.Add(3, "10.1.0", 1), Refusal.Kind.INVALID, "address", "10.1.0"),
            new Row(new Change.Add(3, "0.0.0.0", 1), Refusal.Kind.INVALID, "address", "0.0.0.0"),
            new Row(weight(1, 65536), Refusal.Kind.INVALID, "weight", "65536"),
            new Row(weight(9, 1), Refusal.Kind.NOT_FOUND, "id", "9"),
            new Row(remove(9), Refusal.Kind.NOT_FOUND, "id", "9"),
            new Row(add(1), Refusal.Kind.CONFLICT, "id", "1"),
            new Row(
                new Change.Add(3, "10.1.0.1", 1), Refusal.Kind.CONFLICT, "address", "10.1.0.1"));
    for (Row row : rows) {
      Refusal refusal = refusal(controller.change("web", List.of(add(100), row.change()), false));
      assertThat(refusal.kind()).as("%s", row).isEqualTo(row.kind());
      assertThat(refusal.field()).as("%s", row).isEqualTo(row.field());
      assertThat(refusal.value()).as("%s", row).isEqualTo(row.value());
    }
    assertThat(refusal(controller.change("web", List.of(), false)).field()).isEqualTo("changes");
    assertThat(refusal(controller.change("web", List.of(add(3), remove(3)), false)).field())
        .isEqualTo("id");
    assertThat(refusal(controller.change("nope", List.of(add(3)), false)).kind())
        .isEqualTo(Refusal.Kind.NOT_FOUND);
    assertThat(refusal(controller.deleteService("nope", false)).kind())
        .isEqualTo(Refusal.Kind.NOT_FOUND);
    assertThat(catchThrowableOfType(Refusal.class, () -> controller.ring("nope")).value())
        .isEqualTo("nope");
    assertThat(controller.service("web").orElseThrow().generation()).isEqualTo(2);
    assertThat(controller.backends("web")).hasSize(2);
  }

  @Test
  void explainRefusesFlowsThatAreNotTheServices() throws Exception {
    done(controller.createService(spec("web", "10.99.0.1"), false));
    record Row(Flow flow, String field) {}
    List<Row> rows =
        List.of(
            new Row(new Flow("tcp", "198.51.100.7", 1, "10.99.0.9", 80), "destination"),
            new Row(new Flow("tcp", "198.51.100.7", 1, "10.99.0.1", 81), "destinationPort"),
            new Row(new Flow("udp", "198.51.100.7", 1, "10.99.0.1", 80), "destinationPort"),
            new Row(new Flow("tcp", "198.51.100.7", 65536, "10.99.0.1", 80), "sourcePort"),
            new Row(new Flow("tcp", "2001:db8::1", 1, "10.99.0.1", 80), "source"),
            new Row(new Flow("tcp", "x", 1, "10.99.0.1", 80), "source"));
    for (Row row : rows) {
      Refusal refusal =
          catchThrowableOfType(Refusal.class, () -> controller.explain("web", row.flow()));
      assertThat(refusal).as("%s", row).isNotNull();
      assertThat(refusal.field()).as("%s", row).isEqualTo(row.field());
    }
    assertThat(controller.explain("web", flow("198.51.100.7", 1)).current()).isEmpty();
  }

  private static Flow flow(String source, int port) {
    return new Flow("tcp", source, port, "10.99.0.1", 80);
  }

  private static ServiceSpec with(ServiceSpec spec, List<String> vips, List<Port> ports) {
    return new ServiceSpec(
        spec.name(),
        vips,
        ports,
        spec.maxBackends(),
        spec.buckets(),
        spec.hash(),
        spec.hashKey(),
        spec.affinity(),
        spec.windowSeconds());
  }

  private static ServiceSpec sized(ServiceSpec spec, Integer maxBackends, Integer buckets) {
    return new ServiceSpec(
        spec.name(),
        spec.vips(),
        spec.ports(),
        Optional.ofNullable(maxBackends),
        Optional.ofNullable(buckets),
        spec.hash(),
        spec.hashKey(),
        spec.affinity(),
        spec.windowSeconds());
  }

  private static ServiceSpec hashed(
      ServiceSpec spec, String hash, String hashKey, String affinity, int window) {
    return new ServiceSpec(
        spec.name(),
        spec.vips(),
        spec.ports(),
        spec.maxBackends(),
        spec.buckets(),
        hash,
        Optional.ofNullable(hashKey),
        affinity,
        window);
  }
}
