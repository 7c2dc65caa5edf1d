// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.store.Operation.Kind;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What every store does, on ZooKeeper and in memory. */
class StoreTest {
  private static final Duration SOON = Duration.ofSeconds(30);

  enum Servers {
    ZOOKEEPER {
      @Override
      Server start() throws Exception {
        return new ZooKeeper();
      }
    },
    MEMORY {
      @Override
      Server start() {
        return new Memory();
      }
    };

    abstract Server start() throws Exception;
  }

  /** What stores are clients of. */
  private interface Server {
    Store client() throws Exception;

    /** Until {@link #heal}. */
    void cut() throws Exception;

    void heal() throws Exception;

    /** Ends the client's session; it begins another one when there is a connection. */
    void expire(Store client) throws Exception;

    void stop() throws Exception;
  }

  private static final class ZooKeeper implements Server {
    private final TestingServer server = TestZooKeeper.start();
    private final Map<Store, CuratorFramework> clients = new HashMap<>();

    ZooKeeper() throws Exception {}

    @Override
    public Store client() {
      CuratorFramework client = ZooKeeperClient.create(server.getConnectString());
      Store store = ZooKeeperStore.of(client, new Tree("/fairlead"));
      clients.put(store, client);
      return store;
    }

    @Override
    public void cut() throws Exception {
      server.stop();
    }

    @Override
    public void heal() throws Exception {
      server.restart();
    }

    @Override
    public void expire(Store client) throws Exception {
      clients
          .get(client)
          .getZookeeperClient()
          .getZooKeeper()
          .getTestable()
          .injectSessionExpiration();
    }

    @Override
    public void stop() throws Exception {
      server.close();
    }
  }

  private static final class Memory implements Server {
    private final MemoryTree tree = new MemoryTree(InstantSource.system());
    private final List<MemoryStore> clients = new ArrayList<>();

    @Override
    public Store client() {
      MemoryStore client = tree.client();
      clients.add(client);
      return client;
    }

    @Override
    public void cut() {
      clients.forEach(MemoryStore::disconnect);
    }

    @Override
    public void heal() {
      clients.forEach(MemoryStore::connect);
    }

    @Override
    public void expire(Store client) throws Exception {
      ((MemoryStore) client).expire();
      ((MemoryStore) client).connect();
    }

    @Override
    public void stop() {}
  }

  private Server server;
  private final List<Store> stores = new ArrayList<>();

  private Store open(Servers kind) throws Exception {
    server = kind.start();
    return another();
  }

  private Store another() throws Exception {
    Store store = server.client();
    store.start();
    stores.add(store);
    assertThat(store.awaitConnection(SOON)).isTrue();
    return store;
  }

  @AfterEach
  void close() throws Exception {
    stores.forEach(Store::close);
    server.stop();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(Store store, String path) throws Exception {
    return new String(store.read(path).data(), StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @EnumSource
  void aWriteNamesTheVersionThatItFollows(Servers kind) throws Exception {
    Store store = open(kind);
    store.write(List.of(Operation.create("/a", bytes("one"))));
    Version created = store.read("/a").version();
    assertThat(created).isEqualTo(Version.CREATED);
    store.write(List.of(Operation.set("/a", created, bytes("two"))));
    Version next = store.read("/a").version();
    assertThat(next).isEqualTo(created.next()).isNotEqualTo(created);
    for (Operation late :
        List.of(
            Operation.set("/a", created, bytes("late")),
            Operation.delete("/a", created),
            Operation.unchanged("/a", created))) {
      assertThatThrownBy(() -> store.write(List.of(late)))
          .isInstanceOf(NodeException.Changed.class);
    }
    store.write(List.of(Operation.unchanged("/a", next), Operation.set("/a", bytes("three"))));
    assertThat(store.read("/a").version()).isEqualTo(next.next());
    store.write(List.of(Operation.delete("/a", next.next())));
    store.write(List.of(Operation.create("/a")));
    assertThat(store.read("/a").version()).as("of another node").isEqualTo(Version.CREATED);
  }

  @ParameterizedTest
  @EnumSource
  void allStepsOfAWriteTakePlaceOrNone(Servers kind) throws Exception {
    Store store = open(kind);
    store.write(
        List.of(
            Operation.create("/a"),
            Operation.create("/a/b", bytes("one")),
            Operation.set("/a/b", Version.CREATED, bytes("two")),
            Operation.unchanged("/a/b", Version.CREATED.next())));
    assertThat(text(store, "/a/b")).isEqualTo("two");
    check(store, NodeException.Absent.class, Operation.delete("/none"));
    check(store, NodeException.Absent.class, Operation.set("/none", bytes("")));
    check(store, NodeException.Absent.class, Operation.exists("/none"));
    check(store, NodeException.Absent.class, Operation.create("/none/below"));
    check(store, NodeException.Exists.class, Operation.create("/a/b"));
    check(store, NodeException.NotEmpty.class, Operation.delete("/a"));
    check(store, NodeException.Changed.class, Operation.set("/a", Version.after(7), bytes("")));
    store.write(List.of(Operation.delete("/a/b"), Operation.delete("/a")));
    assertThat(store.children("/")).doesNotContain("a");
  }

  /** The last step fails, so the others leave nothing. */
  private static void check(Store store, Class<? extends NodeException> type, Operation last)
      throws Exception {
    assertThatThrownBy(
            () ->
                store.write(
                    List.of(Operation.create("/new"), Operation.set("/a/b", bytes("other")), last)))
        .as("%s", last)
        .isInstanceOf(type);
    assertThat(store.stat("/new")).isEmpty();
    assertThat(text(store, "/a/b")).isEqualTo("two");
    assertThat(store.read("/a/b").version()).isEqualTo(Version.CREATED.next());
  }

  @ParameterizedTest
  @EnumSource
  void numbersGrowWithEveryNodeOfTheFolder(Servers kind) throws Exception {
    Store store = open(kind);
    store.write(List.of(Operation.create("/log")));
    for (int i = 0; i < 3; i++) {
      store.write(List.of(Operation.create("/log/write-", bytes("" + i), Kind.NUMBERED)));
    }
    List<String> names = store.children("/log").stream().sorted().toList();
    assertThat(names).hasSize(3).allMatch(name -> name.matches("write-[0-9]{10}"));
    assertThat(text(store, "/log/" + names.get(2))).isEqualTo("2");
    store.write(List.of(Operation.delete("/log/" + names.get(2))));
    store.write(List.of(Operation.create("/log/write-", bytes("3"), Kind.NUMBERED)));
    List<String> later = store.children("/log").stream().sorted().toList();
    assertThat(later.get(2)).isGreaterThan(names.get(2));
  }

  @ParameterizedTest
  @EnumSource
  void aNodeIsCreatedOnceWithThoseAboveIt(Servers kind) throws Exception {
    Store store = open(kind);
    assertThat(store.createIfAbsent("/a/b/c", bytes("one"))).isTrue();
    assertThat(store.createIfAbsent("/a/b/c", bytes("two"))).isFalse();
    assertThat(store.createIfAbsent("/a/b/d", bytes("two"))).isTrue();
    assertThat(text(store, "/a/b/c")).isEqualTo("one");
    assertThat(store.children("/a/b")).containsExactlyInAnyOrder("c", "d");
  }

  @ParameterizedTest
  @EnumSource
  void readsSayWhatIsThere(Servers kind) throws Exception {
    Store store = open(kind);
    assertThatThrownBy(() -> store.read("/a")).isInstanceOf(NodeException.Absent.class);
    assertThatThrownBy(() -> store.children("/a")).isInstanceOf(NodeException.Absent.class);
    assertThatThrownBy(() -> store.touch("/a", bytes(""))).isInstanceOf(NodeException.Absent.class);
    assertThat(store.find("/a")).isEmpty();
    assertThat(store.stat("/a")).isEmpty();
    store.write(List.of(Operation.create("/a", bytes("one")), Operation.create("/a/b")));
    assertThat(store.find("/a")).hasValue(bytes("one"));
    assertThat(store.read("/a/b").data()).isEmpty();
    assertThat(store.children(List.of("/", "/none", "/a/b")))
        .satisfies(names -> assertThat(names.get(0).orElseThrow()).contains("a"))
        .satisfies(names -> assertThat(names.get(1)).isEmpty())
        .satisfies(names -> assertThat(names.get(2)).isPresent());
    assertThat(store.read(List.of("/a", "/none", "/a/b")))
        .extracting(data -> data.map(String::new))
        .containsExactly(Optional.of("one"), Optional.empty(), Optional.of(""));
    Node before = store.read("/a");
    assertThat(before.stat()).isEqualTo(store.stat("/a").orElseThrow());
    assertThat(before.path()).isEqualTo("/a");
    assertThat(before.stat().children()).isEqualTo(1);
    assertThat(before.stat().isEphemeral()).isFalse();
    Instant written = store.touch("/a", bytes("two"));
    Stat after = store.stat("/a").orElseThrow();
    assertThat(after.written()).isEqualTo(written).isAfterOrEqualTo(before.stat().written());
    assertThat(after.created()).isEqualTo(before.stat().created());
    assertThat(after.revision()).isGreaterThan(before.stat().revision());
    store.write(List.of(Operation.set("/a/b", bytes("x"))));
    assertThat(store.stat("/a").orElseThrow()).as("a write below is none").isEqualTo(after);
  }

  @ParameterizedTest
  @EnumSource
  void afterASyncEverythingCommittedIsSeen(Servers kind) throws Exception {
    Store store = open(kind);
    Store other = another();
    List<String> seen = new CopyOnWriteArrayList<>();
    store.write(List.of(Operation.create("/a")));
    other.sync();
    CountDownLatch watching = new CountDownLatch(1);
    other.followBelow("/a", told(seen, watching));
    assertThat(watching.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    for (int i = 0; i < 20; i++) {
      String path = "/a/" + i;
      store.write(List.of(Operation.create(path)));
      if (i % 3 == 0) {
        other.sync();
        assertThat(other.stat(path)).isPresent();
      } else if (i % 3 == 1) {
        assertThat(other.findLatest(path)).isPresent();
      } else {
        List<Boolean> done = new CopyOnWriteArrayList<>();
        other.syncInBackground(isSynced -> done.add(isSynced && seen.contains(path)));
        await().atMost(SOON).until(() -> !done.isEmpty());
        assertThat(done).as("told after the listeners").containsExactly(true);
      }
    }
  }

  private static Store.BelowListener told(List<String> seen, CountDownLatch watching) {
    return new Store.BelowListener() {
      @Override
      public void changed(String path) {
        seen.add(path);
      }

      @Override
      public void lost() {
        seen.add("lost");
      }

      @Override
      public void watching() {
        seen.add("watching");
        watching.countDown();
      }
    };
  }

  /** Writes what it is told into a list. */
  private record Told(List<String> of) implements Store.NodeListener {
    @Override
    public void read() {
      of.add("read");
    }

    @Override
    public void changed(Node before, Node now) {
      of.add("%s-%s".formatted(text(before), text(now)));
    }

    @Override
    public void deleted(Node last) {
      of.add("-" + text(last));
    }

    private static String text(Node node) {
      return new String(node.data(), StandardCharsets.UTF_8);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFollowedNodeIsTold(Servers kind) throws Exception {
    Store store = open(kind);
    List<String> told = new CopyOnWriteArrayList<>();
    try (Store.FollowedNode followed = store.follow("/a", new Told(told))) {
      await().atMost(SOON).until(() -> told.equals(List.of("read")));
      assertThat(followed.node()).isEmpty();
      store.write(List.of(Operation.create("/a", bytes("1"))));
      await().atMost(SOON).until(() -> followed.node().isPresent());
      assertThat(followed.node().orElseThrow().stat()).isEqualTo(store.stat("/a").orElseThrow());
      store.write(List.of(Operation.set("/a", bytes("2"))));
      await().atMost(SOON).until(() -> told.equals(List.of("read", "1-2")));
      assertThat(followed.node().orElseThrow().data()).isEqualTo(bytes("2"));
      store.write(List.of(Operation.create("/a/b", bytes("below"))));
      store.write(List.of(Operation.delete("/a/b"), Operation.delete("/a")));
      await().atMost(SOON).until(() -> told.equals(List.of("read", "1-2", "-2")));
      assertThat(followed.node()).isEmpty();
    }
    store.write(List.of(Operation.create("/a"), Operation.set("/a", bytes("3"))));
    List<String> later = new CopyOnWriteArrayList<>();
    try (Store.FollowedNode followed = store.follow("/a", new Told(later))) {
      await().atMost(SOON).until(() -> later.equals(List.of("read")));
      assertThat(followed.node().orElseThrow().data()).isEqualTo(bytes("3"));
    }
    assertThat(told).as("closed").hasSize(3);
  }

  @ParameterizedTest
  @EnumSource
  void theNamesBelowANodeAreTold(Servers kind) throws Exception {
    Store store = open(kind);
    List<Set<String>> told = new CopyOnWriteArrayList<>();
    Store.Following followed = store.followChildren("/a", told::add);
    await().atMost(SOON).until(() -> last(told).equals(Set.of()));
    store.write(List.of(Operation.create("/a"), Operation.create("/a/b")));
    await().atMost(SOON).until(() -> last(told).equals(Set.of("b")));
    store.write(List.of(Operation.create("/a/c"), Operation.create("/a/c/d")));
    await().atMost(SOON).until(() -> last(told).equals(Set.of("b", "c")));
    store.write(List.of(Operation.delete("/a/b")));
    await().atMost(SOON).until(() -> last(told).equals(Set.of("c")));
    followed.close();
  }

  private static Set<String> last(List<Set<String>> told) {
    return told.isEmpty() ? Set.of("nothing yet") : told.get(told.size() - 1);
  }

  @ParameterizedTest
  @EnumSource
  void everyChangeBelowANodeIsTold(Servers kind) throws Exception {
    Store store = open(kind);
    store.write(List.of(Operation.create("/a"), Operation.create("/ab")));
    List<String> seen = new CopyOnWriteArrayList<>();
    CountDownLatch watching = new CountDownLatch(1);
    Store.Following followed = store.followBelow("/a", told(seen, watching));
    assertThat(watching.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    seen.clear();
    store.write(List.of(Operation.set("/ab", bytes("x"))));
    store.write(List.of(Operation.create("/a/b"), Operation.create("/a/b/c")));
    await().atMost(SOON).until(() -> seen.containsAll(List.of("/a/b", "/a/b/c")));
    seen.clear();
    store.write(List.of(Operation.set("/a/b/c", bytes("x"))));
    await().atMost(SOON).until(() -> seen.contains("/a/b/c"));
    seen.clear();
    store.write(List.of(Operation.delete("/a/b/c")));
    await().atMost(SOON).until(() -> seen.contains("/a/b/c"));
    assertThat(seen).doesNotContain("/ab");
    followed.close();
  }

  @ParameterizedTest
  @EnumSource
  void anEphemeralNodeEndsWithItsSession(Servers kind) throws Exception {
    Store store = open(kind);
    Store other = another();
    other.write(List.of(Operation.create("/a", bytes("1"), Kind.EPHEMERAL)));
    store.sync();
    assertThat(store.stat("/a").orElseThrow().isEphemeral()).isTrue();
    assertThatThrownBy(() -> other.write(List.of(Operation.create("/a/b"))))
        .isInstanceOf(NodeException.class);
    stores.remove(other);
    other.close();
    await().atMost(SOON).until(() -> store.stat("/a").isEmpty());
    store.write(List.of(Operation.create("/b", bytes("1"), Kind.EPHEMERAL)));
    server.expire(store);
    Store later = another();
    await().atMost(SOON).until(() -> later.stat("/b").isEmpty());
  }

  @ParameterizedTest
  @EnumSource
  void withoutAConnectionNothingIsAnsweredAndAfterItNothingIsMissed(Servers kind) throws Exception {
    Store store = open(kind);
    List<Connection> states = new CopyOnWriteArrayList<>();
    store.onConnection(states::add);
    store.write(List.of(Operation.create("/a", bytes("1")), Operation.create("/b")));
    List<String> node = new CopyOnWriteArrayList<>();
    List<Set<String>> names = new CopyOnWriteArrayList<>();
    List<String> below = new CopyOnWriteArrayList<>();
    CountDownLatch watching = new CountDownLatch(1);
    Store.FollowedNode followed = store.follow("/a", new Told(node));
    store.followChildren("/b", names::add);
    store.followBelow("/b", told(below, watching));
    await().atMost(SOON).until(() -> followed.node().isPresent() && !names.isEmpty());
    assertThat(watching.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    server.cut();
    await().atMost(SOON).until(() -> states.contains(Connection.SUSPENDED));
    assertThat(store.isConnected()).isFalse();
    assertThat(followed.node()).as("the copy stays").isPresent();
    assertThatThrownBy(() -> store.read("/a")).isInstanceOf(NodeException.class);
    assertThatThrownBy(() -> store.write(List.of(Operation.set("/a", bytes("2")))))
        .isInstanceOf(NodeException.class);
    assertThatThrownBy(store::sync).isInstanceOf(NodeException.class);
    assertThatThrownBy(() -> store.findLatest("/a")).isInstanceOf(NodeException.class);
    assertThatThrownBy(() -> store.children(List.of("/a"))).isInstanceOf(NodeException.class);
    await().atMost(SOON).until(() -> below.contains("lost"));
    below.clear();
    server.heal();
    await().atMost(SOON).until(() -> states.contains(Connection.RECONNECTED));
    Store other = another();
    other.write(List.of(Operation.set("/a", bytes("3")), Operation.create("/b/c")));
    await().atMost(SOON).until(() -> node.contains("1-3"));
    await().atMost(SOON).until(() -> last(names).equals(Set.of("c")));
    await().atMost(SOON).until(() -> below.contains("watching"));
  }

  @ParameterizedTest
  @EnumSource
  void theFirstOfThoseWhoStandLeads(Servers kind) throws Exception {
    Store store = open(kind);
    Store other = another();
    store.write(List.of(Operation.create("/election")));
    List<String> told = new CopyOnWriteArrayList<>();
    ExecutorService thread = Executors.newSingleThreadExecutor(DaemonThreads.named("election"));
    Store.Candidacy first = stand(store, "first", thread, told);
    await().atMost(SOON).until(() -> told.equals(List.of("first leads")));
    Store.Candidacy second = stand(other, "second", thread, told);
    await().atMost(SOON).until(() -> store.children("/election").size() == 2);
    assertThat(first.isLeader()).isTrue();
    assertThat(second.isLeader()).isFalse();
    assertThat(text(store, "/election/" + lowest(store))).isEqualTo("first");
    store.write(List.of(Operation.delete("/election/" + lowest(store))));
    await().atMost(SOON).until(() -> told.contains("second leads"));
    assertThat(second.isLeader()).isTrue();
    first.close();
    second.close();
    assertThat(first.isLeader()).isFalse();
    assertThat(second.isLeader()).isFalse();
    await().atMost(SOON).until(() -> store.children("/election").isEmpty());
    Store.Candidacy third = stand(store, "third", thread, told);
    await().atMost(SOON).until(() -> told.contains("third leads"));
    server.cut();
    await().atMost(SOON).until(() -> told.contains("third follows"));
    assertThat(third.isLeader()).isFalse();
    server.heal();
    await()
        .atMost(SOON)
        .until(
            () -> told.subList(told.indexOf("third follows"), told.size()).contains("third leads"));
    third.close();
    thread.shutdown();
  }

  /** By its number, which Curator's names end with. */
  private static String lowest(Store store) throws Exception {
    return store.children("/election").stream()
        .min((one, two) -> number(one).compareTo(number(two)))
        .orElseThrow();
  }

  private static String number(String name) {
    return name.substring(name.length() - 10);
  }

  private static Store.Candidacy stand(
      Store store, String id, ExecutorService thread, List<String> told) {
    return store.stand(
        "/election", id, thread, () -> told.add(id + " leads"), () -> told.add(id + " follows"));
  }
}
