// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.another;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.Ranges;
import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.explain.Explanation;
import io.fairlead.controller.resources.explain.Flow;
import io.fairlead.controller.resources.explain.RingView;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.Share;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.ServiceSpecBuilder;
import io.fairlead.controller.resources.services.ServiceView;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
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
    Result created =
        done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    assertThat(created.generation()).isEqualTo(1);
    Result added =
        done(
            controller
                .backends()
                .change("web", List.of(add(1), add(2), add(3), add(4)), WriteOptions.COMMIT));
    assertThat(added.generation()).isEqualTo(2);
    assertThat(added.movedBuckets()).isEqualTo(1024);
    assertThat(added.moved().moves()).hasSize(4);
    assertThat(added.shares())
        .containsExactly(
            new Share(1, 100, 0, 256),
            new Share(2, 100, 0, 256),
            new Share(3, 100, 0, 256),
            new Share(4, 100, 0, 256));
    ServiceView view = Shown.service(controller, "web").orElseThrow();
    assertThat(view.config().id()).isEqualTo(1);
    assertThat(view.generation()).isEqualTo(2);
    assertThat(view.backends()).isEqualTo(4);
    assertThat(Shown.ring(controller, "web").runs()).hasSize(4);
    assertThat(Shown.backends(controller, "web").get(0))
        .isEqualTo(new BackendView(1, "10.1.0.1", 100, "active", 256));
  }

  @Test
  void tenThousandChangesAreOneGeneration() throws Exception {
    done(
        controller
            .services()
            .createService(Requests.sized("web", "10.99.0.1", 1 << 20), WriteOptions.COMMIT));
    List<Change> all = IntStream.rangeClosed(1, 10_000).mapToObj(Requests::add).toList();
    Result added = done(controller.backends().change("web", all, WriteOptions.COMMIT));
    assertThat(added.generation()).isEqualTo(2);
    assertThat(added.movedBuckets()).isEqualTo(1 << 20);
    List<Change> mixed =
        IntStream.rangeClosed(1, 10_000)
            .mapToObj(id -> id % 2 == 0 ? Requests.remove(id) : weight(id, 1 + id % 7))
            .toList();
    Result changed = done(controller.backends().change("web", mixed, WriteOptions.COMMIT));
    assertThat(changed.generation()).isEqualTo(3);
    assertThat(changed.moved().moves()).hasSize(4096);
    assertThat(changed.shares()).hasSize(10_000);
    assertThat(Shown.backends(controller, "web")).hasSize(5_000);
    restart();
    assertThat(Shown.service(controller, "web").orElseThrow().generation()).isEqualTo(3);
    assertThat(Shown.backends(controller, "web")).hasSize(5_000);
    assertThat(Shown.backends(controller, "web").get(1).weight()).isEqualTo(4);
  }

  @Test
  void aDryRunSaysWhatACommitDoes() throws Exception {
    List<List<Change>> steps =
        List.of(
            List.of(add(1), add(2), add(3)),
            List.of(weight(2, 0)),
            List.of(remove(2), weight(1, 300)),
            List.of(weight(1, 300)));
    assertThat(
            done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.PLAN))
                .dryRun())
        .isTrue();
    assertThat(Shown.services(controller)).isEmpty();
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    for (List<Change> step : steps) {
      clock.set(clock.seconds() + 10);
      long before = Shown.service(controller, "web").orElseThrow().generation();
      Result planned = done(controller.backends().change("web", step, WriteOptions.PLAN));
      assertThat(Shown.service(controller, "web").orElseThrow().generation()).isEqualTo(before);
      Result committed = done(controller.backends().change("web", step, WriteOptions.COMMIT));
      assertThat(planned).usingRecursiveComparison().ignoringFields("dryRun").isEqualTo(committed);
      assertThat(committed.generation()).isEqualTo(committed.changed() ? before + 1 : before);
    }
    assertThat(done(controller.services().deleteService("web", WriteOptions.PLAN)).dryRun())
        .isTrue();
    assertThat(Shown.services(controller)).hasSize(1);
  }

  @Test
  void bucketsThatMoveTwiceInTheWindowAreCounted() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
    assertThat(
            done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT))
                .moved()
                .stillChained())
        .isZero();
    clock.set(NOW + 1000 + WINDOW - 1);
    assertThat(
            done(controller.backends().change("web", List.of(weight(2, 0)), WriteOptions.PLAN))
                .moved()
                .stillChained())
        .isEqualTo(512);
    clock.set(NOW + 1000 + WINDOW);
    assertThat(
            done(controller.backends().change("web", List.of(weight(2, 0)), WriteOptions.PLAN))
                .moved()
                .stillChained())
        .isZero();
  }

  @Test
  void idsAndAddressesComeBackOnceTheirWindowIsClosed() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
    done(controller.backends().change("web", List.of(remove(2)), WriteOptions.COMMIT));
    clock.set(NOW + 1100);
    Refusal id =
        refusal(controller.backends().change("web", List.of(another(2)), WriteOptions.COMMIT));
    assertThat(id.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(id.field()).isEqualTo("id");
    assertThat(id.allowed()).contains("140 s");
    Refusal address =
        refusal(
            controller
                .backends()
                .change("web", List.of(new Change.Add(3, "10.1.0.2", 100)), WriteOptions.COMMIT));
    assertThat(address.field()).isEqualTo("address");
    assertThat(address.allowed()).contains("140 s");
    restart();
    assertThat(
            refusal(controller.backends().change("web", List.of(another(2)), WriteOptions.COMMIT))
                .allowed())
        .contains("140 s");
    clock.set(NOW + 1000 + WINDOW);
    assertThat(
            done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT))
                .movedBuckets())
        .isEqualTo(512);
    Refusal inOneList =
        refusal(
            controller
                .backends()
                .change(
                    "web",
                    List.of(remove(1), new Change.Add(4, "10.1.0.1", 1)),
                    WriteOptions.COMMIT));
    assertThat(inOneList.allowed()).contains("240 s");
  }

  @Test
  void timeDoesNotGoBackWithTheClock() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
    clock.set(NOW - 5000);
    done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT));
    restart();
    Explanation explanation = Shown.explain(controller, "web", flow("198.51.100.7", 49152));
    assertThat(explanation.former().get(0).since()).isGreaterThanOrEqualTo(NOW);
  }

  @Test
  void explainAgreesWithTheRing() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2), add(3)), WriteOptions.COMMIT));
    clock.set(NOW + 1000);
    done(controller.backends().change("web", List.of(remove(3)), WriteOptions.COMMIT));
    RingView ring = Shown.ring(controller, "web");
    Set<Integer> previous = new TreeSet<>();
    for (int port = 1024; port < 1324; port++) {
      Explanation explanation = Shown.explain(controller, "web", flow("198.51.100.7", port));
      int owner = explanation.current().orElseThrow().id();
      int bucket = explanation.bucket().orElseThrow();
      assertThat(ring.runs().get(owner))
          .anyMatch(run -> run[0] <= bucket && bucket < run[0] + run[1]);
      assertThat(bucket).isEqualTo((int) (explanation.hash() & 1023));
      explanation.former().forEach(from -> previous.add(from.id()));
    }
    assertThat(previous).containsExactly(3);
  }

  @Test
  void aRestartLosesNothing() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.services().createService(spec("dns", "10.99.0.2"), WriteOptions.COMMIT));
    for (int id = 1; id <= 30; id++) {
      clock.set(clock.seconds() + 1);
      done(controller.backends().change("web", List.of(add(id)), Requests.FORCE));
    }
    done(
        controller
            .services()
            .changeService(
                "web",
                ServiceSpec.builder()
                    .vips(List.of("10.99.0.7", "2001:db8::7"))
                    .windowSeconds(300)
                    .build(),
                WriteOptions.COMMIT));
    List<ServiceView> services = Shown.services(controller);
    List<BackendView> backends = Shown.backends(controller, "web");
    RingView ring = Shown.ring(controller, "web");
    long epoch = controller.plane().health().epoch();
    restart();
    assertThat(Shown.services(controller)).isEqualTo(services);
    assertThat(Shown.backends(controller, "web")).isEqualTo(backends);
    assertThat(Shown.ring(controller, "web")).usingRecursiveComparison().isEqualTo(ring);
    assertThat(controller.plane().health().epoch()).isEqualTo(epoch + 1);
    assertThat(services.get(1).config().windowSeconds()).isEqualTo(300);
  }

  @Test
  void idsOfServicesAreHandedOutOnce() throws Exception {
    done(controller.services().createService(spec("a", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.services().createService(spec("b", "10.99.0.2"), WriteOptions.COMMIT));
    done(controller.backends().change("b", List.of(add(1)), WriteOptions.COMMIT));
    done(controller.services().deleteService("b", WriteOptions.COMMIT));
    assertThat(Shown.services(controller))
        .extracting(view -> view.config().name())
        .containsExactly("a");
    done(controller.services().createService(spec("b", "10.99.0.2"), WriteOptions.COMMIT));
    assertThat(Shown.service(controller, "b").orElseThrow().config().id()).isEqualTo(3);
    assertThat(Shown.service(controller, "b").orElseThrow().backends()).isZero();
    restart();
    done(controller.services().createService(spec("c", "10.99.0.3"), WriteOptions.COMMIT));
    assertThat(Shown.service(controller, "c").orElseThrow().config().id()).isEqualTo(4);
  }

  @Test
  void servicesMayShareAVipOnDifferentPorts() throws Exception {
    done(controller.services().createService(spec("a", "10.99.0.1"), WriteOptions.COMMIT));
    Refusal taken =
        refusal(controller.services().createService(spec("b", "10.99.0.1"), WriteOptions.COMMIT));
    assertThat(taken.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(taken.value()).isEqualTo("10.99.0.1 tcp:80");
    done(controller.services().createService(spec("b", "10.99.0.2"), WriteOptions.COMMIT));
    ServiceSpec sameVip = ServiceSpec.builder().vips(List.of("10.99.0.1")).build();
    assertThat(
            refusal(controller.services().changeService("b", sameVip, WriteOptions.COMMIT)).kind())
        .isEqualTo(Refusal.Kind.CONFLICT);
    ServiceSpec otherPort =
        ServiceSpec.builder()
            .vips(List.of("10.99.0.1"))
            .ports(List.of(new Port("udp", 80), new Port("tcp", 443)))
            .build();
    done(controller.services().changeService("b", otherPort, WriteOptions.COMMIT));
    assertThat(Shown.service(controller, "b").orElseThrow().config().vips())
        .containsExactly("10.99.0.1");
  }

  @Test
  void muxesAreWatched() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    try (CuratorFramework mux =
        CuratorFrameworkFactory.newClient(controller.zookeeper(), new RetryOneTime(100))) {
      mux.start();
      String node =
          """
          {"format": 1, "id": "mux1", "version": "0.1.0", "address": "10.1.0.11",
           "ports": ["eth0"], "services": {"web": {"generation": %d, "state": "serving"}}}
          """;
      Muxes.write(mux, "/fairlead/muxes/mux1", node.formatted(1));
      await().untilAsserted(() -> assertThat(controller.muxes().get()).hasSize(1));
      done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
      assertThat(controller.metrics().scrape())
          .contains("fairlead_controller_generation{service=\"web\"} 2.0")
          .contains("fairlead_controller_mux_lag_generations{mux=\"mux1\",service=\"web\"} 1.0")
          .contains("fairlead_controller_commits_total{service=\"web\"} 1.0")
          .contains("fairlead_controller_leader 1.0");
      Muxes.write(mux, "/fairlead/muxes/mux1", node.formatted(2));
      await()
          .untilAsserted(
              () ->
                  assertThat(controller.muxes().get().get(0).services().get("web").generation())
                      .isEqualTo(2));
      Muxes.write(mux, "/fairlead/muxes/mux1", "{");
      await().untilAsserted(() -> assertThat(controller.muxes().get()).isEmpty());
    }
  }

  @Test
  void manySmallChangesLeaveFewGenerations() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    for (int i = 1; i <= 40; i++) {
      done(
          controller
              .backends()
              .change(
                  "web",
                  i == 1 ? List.of(add(1), add(2)) : List.of(weight(1, i)),
                  WriteOptions.COMMIT));
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
            new Row(with(good, List.of(), good.ports().orElseThrow()), "vips", "0 addresses"),
            new Row(
                with(good, List.of("10.99.0.1", "10.99.0.1"), good.ports().orElseThrow()),
                "vips",
                "10.99.0.1"),
            new Row(with(good, good.vips().orElseThrow(), List.of()), "ports", "0 ports"),
            new Row(
                with(good, good.vips().orElseThrow(), List.of(new Port("sctp", 1))),
                "ports.protocol",
                "sctp"),
            new Row(
                with(good, good.vips().orElseThrow(), List.of(new Port("tcp", 0))),
                "ports.port",
                "0"),
            new Row(
                with(good, good.vips().orElseThrow(), List.of(new Port("tcp", 65536))),
                "ports.port",
                "65536"),
            new Row(
                with(
                    good,
                    good.vips().orElseThrow(),
                    List.of(new Port("tcp", 1), new Port("tcp", 1))),
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
      Refusal refusal =
          refusal(controller.services().createService(row.spec(), WriteOptions.COMMIT));
      assertThat(refusal.kind()).isEqualTo(Refusal.Kind.INVALID);
      assertThat(refusal.field()).isEqualTo(row.field());
      assertThat(refusal.value()).isEqualTo(row.value());
      assertThat(refusal.allowed()).isNotBlank();
    }
    assertThat(Shown.services(controller)).isEmpty();
    done(controller.services().createService(sized(good, 100, null), WriteOptions.COMMIT));
    assertThat(Shown.service(controller, "web").orElseThrow().config().buckets()).isEqualTo(16384);
    assertThat(refusal(controller.services().createService(good, WriteOptions.COMMIT)).field())
        .isEqualTo("name");
  }

  @Test
  void aBadChangeIsRefusedAndNothingOfItsListIsDone() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
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
      Refusal refusal =
          refusal(
              controller
                  .backends()
                  .change("web", List.of(add(100), row.change()), WriteOptions.COMMIT));
      assertThat(refusal.kind()).as("%s", row).isEqualTo(row.kind());
      assertThat(refusal.field()).as("%s", row).isEqualTo(row.field());
      assertThat(refusal.value()).as("%s", row).isEqualTo(row.value());
    }
    assertThat(refusal(controller.backends().change("web", List.of(), WriteOptions.COMMIT)).field())
        .isEqualTo("changes");
    assertThat(
            refusal(
                    controller
                        .backends()
                        .change("web", List.of(add(3), remove(3)), WriteOptions.COMMIT))
                .field())
        .isEqualTo("id");
    assertThat(
            refusal(controller.backends().change("nope", List.of(add(3)), WriteOptions.COMMIT))
                .kind())
        .isEqualTo(Refusal.Kind.NOT_FOUND);
    assertThat(refusal(controller.services().deleteService("nope", WriteOptions.COMMIT)).kind())
        .isEqualTo(Refusal.Kind.NOT_FOUND);
    assertThat(catchThrowableOfType(Refusal.class, () -> Shown.ring(controller, "nope")).value())
        .isEqualTo("nope");
    assertThat(Shown.service(controller, "web").orElseThrow().generation()).isEqualTo(2);
    assertThat(Shown.backends(controller, "web")).hasSize(2);
  }

  @Test
  void explainRefusesFlowsThatAreNotTheServices() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
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
          catchThrowableOfType(Refusal.class, () -> Shown.explain(controller, "web", row.flow()));
      assertThat(refusal).as("%s", row).isNotNull();
      assertThat(refusal.field()).as("%s", row).isEqualTo(row.field());
    }
    assertThat(Shown.explain(controller, "web", flow("198.51.100.7", 1)).current()).isEmpty();
  }

  private static Flow flow(String source, int port) {
    return new Flow("tcp", source, port, "10.99.0.1", 80);
  }

  private static ServiceSpec with(ServiceSpec spec, List<String> vips, List<Port> ports) {
    return spec.toBuilder().vips(vips).ports(ports).build();
  }

  private static ServiceSpec sized(ServiceSpec spec, Integer maxBackends, Integer buckets) {
    ServiceSpecBuilder sized =
        ServiceSpec.builder()
            .name(spec.name().orElseThrow())
            .vips(spec.vips().orElseThrow())
            .vipRanges(Ranges.ALL)
            .ports(spec.ports().orElseThrow());
    if (maxBackends != null) {
      sized.maxBackends(maxBackends);
    }
    if (buckets != null) {
      sized.buckets(buckets);
    }
    return sized.build();
  }

  private static ServiceSpec hashed(
      ServiceSpec spec, String hash, String hashKey, String affinity, int window) {
    ServiceSpecBuilder hashed =
        spec.toBuilder().hash(hash).affinity(affinity).windowSeconds(window);
    return hashKey == null ? hashed.build() : hashed.hashKey(hashKey).build();
  }
}
