// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Requests;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.store.AuditEntry;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings of the whole cluster, and VIPs that would cut it off. */
class ClusterTest {
  private static final String MUX =
      """
      {"format":1,"id":"mux1","kind":"c","version":"1","fragmentSeed":true,"address":"10.1.0.11",
       "address6":"2001:db8::11","ports":["eth0"],"services":{},
       "needs":{"10.1.0.11":"own","10.1.0.5":"zookeeper","10.1.0.1":"bgp","10.1.0.3":"next_hop",
                "10.1.0.4":"some_new_word","nonsense":"bgp"}}\
      """;

  private TestingServer server;
  private CuratorFramework client;
  private FairleadController controller;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    client = ZooKeeperClient.create(server.getConnectString());
    client.start();
    lead();
  }

  private void lead() throws Exception {
    controller =
        Controllers.open(
            ControllerOptions.of(
                    server.getConnectString(),
                    FreePorts.nextAddress(),
                    "/fairlead",
                    "host9/10.1.0.9:8080",
                    new SettableClock(1_700_000_000))
                .withClockCheck(false));
    assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
  }

  @AfterEach
  void close() throws Exception {
    controller.close();
    client.close();
    server.close();
  }

  private static ServiceSpec spec(String name, String... vips) {
    return Requests.spec(name, "10.99.0.1").toBuilder()
        .vips(List.of(vips))
        .vipRanges(List.of())
        .build();
  }

  /** A service as it is asked for without ranges. */
  private CompletionStage<Result> create(String name, String... vips) {
    ServiceSpec spec = spec(name, vips);
    return controller.services().createService(without(spec), WriteOptions.COMMIT);
  }

  private static ServiceSpec without(ServiceSpec spec) {
    return ServiceSpec.builder()
        .name(spec.name().orElseThrow())
        .vips(spec.vips().orElseThrow())
        .ports(spec.ports().orElseThrow())
        .buckets(256)
        .build();
  }

  private CompletionStage<Result> createWith(List<String> ranges, String name, String... vips) {
    return controller
        .services()
        .createService(
            without(spec(name, vips)).toBuilder().vipRanges(ranges).build(), WriteOptions.COMMIT);
  }

  private CompletionStage<Result> set(List<String> ranges, List<String> never) {
    return controller
        .cluster()
        .changeCluster(ClusterSettings.of(ranges, never), WriteOptions.COMMIT);
  }

  private void mux(String id, String node) throws Exception {
    Muxes.write(client, "/fairlead/muxes/" + id, node);
    await().until(() -> controller.muxes().get().stream().anyMatch(mux -> mux.id().equals(id)));
  }

  private static void assertRefused(Refusal refusal, String field, String value, String allowed) {
    assertThat(refusal.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(refusal.field()).isEqualTo(field);
    assertThat(refusal.value()).isEqualTo(value);
    assertThat(refusal.allowed()).contains(allowed);
  }

  @Test
  void theFirstServiceNeedsRangesOrBringsThem() throws Exception {
    assertThat(controller.cluster().settings()).isEqualTo(ClusterSettings.NONE);
    assertRefused(
        refusal(create("web", "10.99.0.1")), "vips", "10.99.0.1", "cluster set --vip-range");
    assertThat(controller.plane().services()).isEmpty();

    ServiceSpec planned =
        without(spec("web", "10.99.0.1")).toBuilder().vipRanges(List.of("10.99.0.0/16")).build();
    done(controller.services().createService(planned, WriteOptions.PLAN));
    assertThat(controller.cluster().settings()).isEqualTo(ClusterSettings.NONE);

    done(createWith(List.of("10.99.0.0/16"), "web", "10.99.0.1"));
    assertThat(controller.cluster().settings().vipRanges()).containsExactly("10.99.0.0/16");
    done(createWith(List.of("10.99.0.0/16"), "dns", "10.99.0.2"));
    done(create("app", "10.99.0.3"));
    assertRefused(
        refusal(createWith(List.of("10.98.0.0/16"), "out", "10.98.0.1")),
        "vipRanges",
        "10.98.0.0/16",
        "10.99.0.0/16; PUT /v1/cluster");
    assertRefused(
        refusal(create("out", "10.99.0.4", "10.98.0.1")), "vips", "10.98.0.1", "10.99.0.0/16");
    ServiceSpec change = ServiceSpec.builder().vips(List.of("10.99.0.1", "10.98.0.1")).build();
    assertRefused(
        refusal(controller.services().changeService("web", change, WriteOptions.COMMIT)),
        "vips",
        "10.98.0.1",
        "10.99.0.0/16");
  }

  @Test
  void aRefusedFirstServiceSetsNoRanges() throws Exception {
    mux("mux1", MUX);
    assertRefused(
        refusal(createWith(List.of("10.1.0.0/16"), "oops", "10.1.0.1")), "vips", "10.1.0.1", "BGP");
    assertThat(controller.cluster().settings()).isEqualTo(ClusterSettings.NONE);
  }

  @Test
  void settingsAreOnRecordAndOutliveTheLeader() throws Exception {
    done(set(List.of("10.99.0.0/16", "2001:db8:99::/64"), List.of("10.99.0.254", "10.99.7.0/24")));
    assertThat(
            done(set(
                    List.of("10.99.0.0/16", "2001:db8:99::/64"),
                    List.of("10.99.0.254", "10.99.7.0/24")))
                .changed())
        .isFalse();
    assertRefused(refusal(create("web", "10.99.0.254")), "vips", "10.99.0.254", "neverVips");
    assertRefused(refusal(create("web", "10.99.7.9")), "vips", "10.99.7.9", "10.99.7.0/24");
    done(create("web", "10.99.0.1", "2001:db8:99::1"));
    List<AuditEntry> records =
        controller.audit().page(OptionalLong.empty(), 10).entries().stream()
            .map(Journal.Numbered::entry)
            .toList();
    assertThat(records.get(1).service()).isEqualTo(Optional.empty());
    assertThat(records.get(1).outcome()).isEqualTo(AuditEntry.COMMITTED);

    controller.close();
    lead();
    assertThat(controller.cluster().settings().neverVips())
        .containsExactly("10.99.0.254", "10.99.7.0/24");
    assertRefused(refusal(create("out", "10.98.0.1")), "vips", "10.98.0.1", "10.99.0.0/16");
  }

  @Test
  void vipsOfServicesStayAllowed() throws Exception {
    done(createWith(List.of("10.99.0.0/16"), "web", "10.99.0.1"));
    assertRefused(
        refusal(set(List.of("10.98.0.0/16"), List.of())), "vipRanges", "10.99.0.1", "of 'web'");
    assertRefused(
        refusal(set(List.of("10.99.0.0/16"), List.of("10.99.0.1"))),
        "neverVips",
        "10.99.0.1",
        "of 'web'");
    done(set(List.of("10.98.0.0/16", "10.99.0.0/24"), List.of()));
    done(create("out", "10.98.0.1"));
  }

  @ParameterizedTest
  @CsvSource({
    "10.1.0.11, 'mux mux1'",
    "2001:db8::11, 'mux mux1'",
    "10.1.0.5, 'mux mux1 reaches ZooKeeper there'",
    "10.1.0.1, 'mux mux1 has its BGP session with it'",
    "10.1.0.3, 'mux mux1 sends to others through it'",
    "10.1.0.4, 'mux mux1 needs it (some_new_word)'",
    "10.1.0.9, 'the controller host9/10.1.0.9:8080'",
    "10.1.0.1, 'BGP'",
  })
  void whatTheClusterNeedsIsNoVip(String vip, String why) throws Exception {
    mux("mux1", MUX);
    done(set(List.of("10.0.0.0/8", "2001:db8::/32"), List.of()));
    assertRefused(refusal(create("oops", vip)), "vips", vip, why);
    done(create("web", "10.99.0.1"));
    ServiceSpec change = ServiceSpec.builder().vips(List.of("10.99.0.1", vip)).build();
    assertRefused(
        refusal(controller.services().changeService("web", change, WriteOptions.PLAN)),
        "vips",
        vip,
        why);
  }

  @Test
  void aMuxIsNoBackend() throws Exception {
    mux("mux1", MUX);
    done(createWith(List.of("10.99.0.0/16"), "web", "10.99.0.1"));
    for (WriteOptions options : List.of(WriteOptions.PLAN, WriteOptions.COMMIT)) {
      assertRefused(
          refusal(
              controller
                  .backends()
                  .change("web", List.of(new Change.Add(7, "10.1.0.11", 100)), options)),
          "address",
          "10.1.0.11",
          "mux mux1");
    }
    // ZooKeeper and a server may share a host.
    done(
        controller
            .backends()
            .change(
                "web", List.of(new Change.Add(5, "10.1.0.5", 100), add(2)), WriteOptions.COMMIT));
  }

  @Test
  void servicesFromBeforeThereWereRangesGoOn() throws Exception {
    done(createWith(List.of("10.99.0.0/16"), "web", "10.99.0.1"));
    controller.close();
    client.delete().forPath("/fairlead/settings");
    lead();
    done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT));
    done(
        controller
            .services()
            .changeService(
                "web", ServiceSpec.builder().windowSeconds(60).build(), WriteOptions.COMMIT));
    assertRefused(refusal(create("dns", "10.99.0.2")), "vips", "10.99.0.2", "--vip-range");
    assertRefused(
        refusal(set(List.of("10.98.0.0/16"), List.of())), "vipRanges", "10.99.0.1", "of 'web'");
  }
}
