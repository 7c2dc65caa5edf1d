// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.zookeeper.ZooKeeperAccess;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What muxes write into their own nodes, which is not checked when it is written. */
class MuxWatchTest {
  private static final Tree TREE = new Tree("/fairlead");
  private static final String GOOD =
      "{\"format\":1,\"id\":\"z\",\"version\":\"1\",\"address\":\"10.1.0.11\",\"ports\":[],\"services\":{}}";

  private final AtomicLong now = new AtomicLong(1_700_000_000);
  private TestingServer server;
  private CuratorFramework client;
  private MuxWatch watch;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    client = ZooKeeperClient.create(server.getConnectString());
    client.start();
    client.create().creatingParentsIfNeeded().forPath(TREE.muxes(), new byte[0]);
    watch = new MuxWatch(ZooKeeperStore.of(client, TREE), TREE, now::get);
    watch.start();
  }

  @AfterEach
  void close() throws Exception {
    watch.close();
    client.close();
    server.close();
  }

  private void write(String mux, String node) throws Exception {
    Muxes.write(client, TREE.mux(mux), node);
  }

  /** The muxes once "z" is among them, which was written last. */
  private List<MuxView> seen() throws Exception {
    write("z", GOOD);
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> watch.muxes().stream().anyMatch(mux -> mux.id().equals("z")));
    return watch.muxes();
  }

  @Test
  void aMuxHasAnAddressOfOneFamilyAtLeastAndSaysWhatItHasWithdrawnOrRefused() throws Exception {
    write(
        "six",
        """
        {"format": 1, "id": "six", "kind": "p4", "version": "0.1.0", "address6": "2001:db8::11", "ports": ["eth0"],
         "colour": "red", "metrics": "https://[2001:db8::11]:9108/metrics", "needs": {"10.1.0.1": "bgp", "x": "bgp", "10.1.0.2": 3},
         "unreachable": {"2001:DB8::9": "loop", "y": "loop", "10.1.0.9": null}, "unreachableMore": 3, "serves": {"encap": ["gue"], "buckets": 1024, "taste": 1},
         "services": {"web": {"generation": 12, "state": "serving", "withdrawn": "behind", "settled": 12},
                      "dns": {"generation": 0, "state": "loading", "refused": "unsupported", "why": "hash", "settled": 0}}}
        """);
    assertThat(seen())
        .containsExactly(
            new MuxView(
                "six",
                "p4",
                "0.1.0",
                Optional.empty(),
                Optional.of("2001:db8::11"),
                List.of("eth0"),
                Optional.of(
                    new MuxServes(
                        Optional.of(List.of("gue")), Optional.empty(), Optional.of(1024))),
                Map.of("10.1.0.1", "bgp"),
                Map.of("2001:db8::9", "loop"),
                3,
                Map.of(
                    "web", Muxes.behind(12),
                    "dns", Muxes.unsupported("hash")),
                Optional.of(new MetricsUrl("https", "[2001:db8::11]:9108"))),
            new MuxView(
                "z",
                "c",
                "1",
                Optional.of("10.1.0.11"),
                Optional.empty(),
                List.of(),
                Optional.empty(),
                Map.of(),
                Map.of()));
  }

  /** The mux is there, whatever it says that it serves. */
  @Test
  void malformedLimitsAreLeftOutWithFieldAndValue() throws Exception {
    Map<String, String> malformed =
        Map.of(
            "[]", "serves is []; allowed: an object",
            "{\"encap\":\"gue\"}", "serves.encap is \"gue\"; allowed: a list of words",
            "{\"steering\":[1]}", "serves.steering is [1]; allowed: a list of words",
            "{\"steering\":null}", "serves.steering is null; allowed: a list of words",
            "{\"buckets\":-1}", "serves.buckets is -1; allowed: a whole number from 0",
            "{\"buckets\":1.5}", "serves.buckets is 1.5; allowed: a whole number from 0",
            "{\"buckets\":4294967296}",
                "serves.buckets is 4294967296; allowed: a whole number from 0");
    int number = 0;
    for (Map.Entry<String, String> each : malformed.entrySet()) {
      assertThatThrownBy(() -> MuxServes.of(new ObjectMapper().readTree(each.getKey())))
          .isInstanceOf(IOException.class)
          .hasMessage(each.getValue());
      String serves = "\"serves\":%s,\"services\"".formatted(each.getKey());
      write("odd" + number++, GOOD.replace("\"services\"", serves));
    }
    assertThat(seen())
        .hasSize(malformed.size() + 1)
        .allSatisfy(mux -> assertThat(mux.serves()).isEmpty());
  }

  private static String generation(String number) {
    return GOOD.replace(
        "\"services\":{}",
        "\"services\":{\"web\":{\"generation\":%s,\"state\":\"x\"}}".formatted(number));
  }

  @Test
  void aNodeOfSomethingElseHidesNoOtherMux() throws Exception {
    List<String> nodes =
        List.of(
            "",
            "{",
            "null",
            "[]",
            GOOD.replace("\"format\":1", "\"format\":2"),
            GOOD.replace("\"version\":\"1\",", ""),
            GOOD.replace("\"ports\":[]", "\"ports\":[null]"),
            GOOD.replace("\"ports\":[],", ""),
            GOOD.replace("\"services\":{}", "\"services\":null"),
            GOOD.replace("\"services\":{}", "\"services\":{\"web\":null}"),
            GOOD.replace("\"services\":{}", "\"services\":{\"web\":{\"generation\":1}}"),
            generation("-1"),
            generation("4294967296"),
            generation("9223372036854775807"),
            generation("9223372036854775808"));
    for (int i = 0; i < nodes.size(); i++) {
      assertThat(nodes.get(i)).isNotEqualTo(GOOD);
      write("bad" + i, nodes.get(i));
    }
    assertThat(seen()).extracting(MuxView::id).containsExactly("z");
  }

  /** Only a node of a mux that is added, which goes with its session. */
  @Test
  void nothingElseIsAMux() throws Exception {
    byte[] node = GOOD.getBytes(StandardCharsets.UTF_8);
    for (String path : List.of("persistent", "entry", "entry/other", "deep", "deep/deep")) {
      client.create().forPath(TREE.muxes() + "/" + path, node);
    }
    CreateMode mode = CreateMode.EPHEMERAL;
    for (String path : List.of("entry/live2", "deep/deep/live")) {
      client.create().withMode(mode).forPath(TREE.muxes() + "/" + path, node);
    }
    client.create().forPath(Tree.live(TREE.mux("persistent")), node);
    client.create().withMode(mode).forPath(TREE.mux("ephemeral"), node);
    assertThat(seen()).extracting(MuxView::id).containsExactly("z");
    assertThat(watch.all())
        .extracting(mux -> mux.id() + " " + mux.isAlive())
        .containsExactly("deep false", "entry false", "persistent false", "z true");
  }

  /** Which would end this session, if they were listed, with all that it does. */
  @Test
  void aMuxMayMakeMoreNodesThanAnAnswerHolds() throws Exception {
    long session = client.getZookeeperClient().getZooKeeper().getSessionId();
    AtomicBoolean isLost = new AtomicBoolean();
    client
        .getConnectionStateListenable()
        .addListener((by, state) -> isLost.set(isLost.get() || !state.isConnected()));
    write("a", GOOD);
    Muxes.makeTooMany(client, TREE.mux("a"));
    assertThat(seen()).extracting(MuxView::id).containsExactly("a", "z");
    try (MuxWatch later = new MuxWatch(ZooKeeperStore.of(client, TREE), TREE, now::get)) {
      later.start();
      await().atMost(Duration.ofSeconds(30)).until(() -> later.muxes().size() == 2);
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> later.presence().watchedSince() == now.get());
    }
    assertThat(isLost).isFalse();
    assertThat(client.getZookeeperClient().getZooKeeper().getSessionId()).isEqualTo(session);
  }

  /** A mux that hides its node is unknown; the others are still read. */
  @Test
  void whatMuxesHaveAppliedIsReadOnceAllAreKnown() throws Exception {
    for (String mux : List.of("a", "b", "hidden")) {
      write(mux, node("10.1.0.11", ""));
    }
    ACL own = new ACL(ZooDefs.Perms.ALL, new Id("digest", ZooKeeperAccess.digest("x:password")));
    client.setACL().withACL(Arrays.asList(own)).forPath(Tree.live(TREE.mux("hidden")));
    try (MuxWatch later = new MuxWatch(ZooKeeperStore.of(client, TREE), TREE, now::get)) {
      assertThat(later.appliedAfter(Duration.ZERO)).isEqualTo(Map.of("a", 7L, "b", 7L));
    }
  }

  /** An operator's word that it is gone ends what waits for it. */
  @Test
  void aMuxThatIsRemovedIsAbsentUntilItMustHaveWithdrawn() throws Exception {
    write("a", node("10.1.0.11", "\"behindSeconds\": 5,"));
    write("b", node("10.1.0.12", "\"behindSeconds\": 5,"));
    write("never", node("10.1.0.13", "\"behindSeconds\": 0,"));
    until(presence -> presence.present().size() == 3);
    for (String mux : List.of("a", "b", "never")) {
      Muxes.end(client, TREE.mux(mux));
      client.delete().forPath(TREE.mux(mux));
    }
    until(presence -> presence.absent().size() == 3);
    await().atMost(Duration.ofSeconds(30)).until(() -> watch.all().isEmpty());
    now.addAndGet(14);
    assertThat(watch.presence().absent()).hasSize(3);
    client.create().forPath(TREE.mux("b"), "{\"format\":1}".getBytes(StandardCharsets.UTF_8));
    await().atMost(Duration.ofSeconds(30)).until(() -> watch.all().size() == 1);
    now.incrementAndGet();
    assertThat(watch.presence().absent())
        .extracting(each -> each.mux().id())
        .containsExactlyInAnyOrder("b", "never");
    now.addAndGet(86_400);
    assertThat(watch.presence().absent()).isEmpty();
  }

  /** Muxes may have come and gone meanwhile, of which no watch tells. */
  @Test
  void aLostSessionBeginsTheWatchAnew() throws Exception {
    write("a", node("10.1.0.11", ""));
    until(presence -> presence.present().size() == 1 && presence.watchedSince() == now.get());
    long again = now.addAndGet(1000);
    long session = client.getZookeeperClient().getZooKeeper().getSessionId();
    client.getZookeeperClient().getZooKeeper().getTestable().injectSessionExpiration();
    until(presence -> presence.watchedSince() == again);
    assertThat(client.getZookeeperClient().getZooKeeper().getSessionId()).isNotEqualTo(session);
    write("b", node("10.1.0.12", ""));
    until(presence -> presence.present().stream().anyMatch(each -> each.mux().id().equals("b")));
    Muxes.end(client, TREE.mux("b"));
    until(presence -> presence.absent().stream().anyMatch(each -> each.mux().id().equals("b")));
  }

  /** A mux whose node cannot be read may announce any generation. */
  @Test
  void aNodeThatCannotBeReadIsOfAMuxThatIsThere() throws Exception {
    write("a", node("10.1.0.11", "\"behindSeconds\": 5,"));
    write("never", "{");
    MuxPresence presence = until(each -> each.present().size() == 1 && isUnreadable(each, "never"));
    assertThat(presence.absent()).isEmpty();
    write("a", "[]");
    presence = until(each -> isUnreadable(each, "a", "never"));
    assertThat(presence.absent()).isEmpty();
    long gone = now.addAndGet(100);
    for (String mux : List.of("a", "never")) {
      Muxes.end(client, TREE.mux(mux));
    }
    presence = until(each -> isUnreadable(each) && each.watchedSince() == gone);
    assertThat(presence.absent())
        .as("by what it said when it was understood")
        .extracting(each -> each.mux().services().get("web").generation())
        .containsExactly(7L);
    assertThat(presence.present()).isEmpty();
  }

  private static boolean isUnreadable(MuxPresence presence, String... muxes) {
    return presence.unreadable().equals(Set.of(muxes));
  }

  /** Presence once it is as wanted. */
  private MuxPresence until(Predicate<MuxPresence> wanted) {
    await().atMost(Duration.ofSeconds(30)).until(() -> wanted.test(watch.presence()));
    return watch.presence();
  }

  private static String node(String address, String more) {
    return """
    {"format": 1, "version": "1", "address": "%s", "ports": [], %s "services": {"web": {"generation": 7, "state": "serving"}}}
    """
        .formatted(address, more);
  }

  @Test
  void aMuxWhoseNodeIsGoneIsAbsentUntilItIsBackOrADayHasPassed() throws Exception {
    write("a", node("10.1.0.11", "\"behindSeconds\": 5,"));
    write("b", node("10.1.0.12", "\"behindSeconds\": \"soon\","));
    write("c", node("10.1.0.13", ""));
    write("d", node("10.1.0.14", "\"behindSeconds\": 3600,"));
    write("e", node("10.1.0.15", "\"behindSeconds\": 2147483647,"));
    MuxPresence all = until(presence -> presence.present().size() == 5);
    assertThat(all.present())
        .extracting(MuxPresence.Present::behindSeconds)
        .containsExactly(5, 60, 60, 3600, 60);
    assertThat(all.absent()).isEmpty();
    assertThat(all.watchedSince()).isEqualTo(now.get());
    for (String mux : List.of("d", "e")) {
      Muxes.end(client, TREE.mux(mux));
    }
    until(presence -> presence.absent().size() == 2);
    now.addAndGet(86_400);
    assertThat(watch.presence().absent()).isEmpty();
    long gone = now.addAndGet(100);
    for (String mux : List.of("a", "b", "c")) {
      Muxes.end(client, TREE.mux(mux));
    }
    MuxPresence none = until(presence -> presence.absent().size() == 3);
    assertThat(none.present()).isEmpty();
    assertThat(none.absent()).extracting(MuxPresence.Absent::gone).containsOnly(gone);
    assertThat(none.absent())
        .filteredOn(each -> each.mux().id().equals("a"))
        .allMatch(
            each ->
                each.behindSeconds() == 5 && each.mux().services().get("web").generation() == 7);
    write("a", node("10.1.0.11", ""));
    write("d", node("10.1.0.12", "")); // it says that it has b's address
    MuxPresence back = until(presence -> presence.present().size() == 2);
    assertThat(back.absent())
        .extracting(each -> each.mux().id())
        .containsExactlyInAnyOrder("b", "c");
    now.addAndGet(86_400);
    assertThat(watch.presence().absent()).isEmpty();
  }
}
