// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.RandomDeltas;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.store.ArraysWrite;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Sizes;
import io.fairlead.controller.store.SnapshotWrite;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;

/**
 * For any changes of a service, and at any write to a real ZooKeeper at which its leader ends: the
 * next leader finds every generation that was acknowledged, and at most one more, which was in
 * flight; the snapshot and the deltas after it make that image, and no partial write is left.
 *
 * <p>Requests are small enough that most generations need several: chunks ahead, then the commit.
 */
class CrashPropertyTest {
  private static final Duration DEADLINE = Duration.ofSeconds(5);
  private static final int LEADERS = 8;
  private static final int WRITES_MAX = 24;

  private static TestingServer server;
  private static CuratorFramework client;
  private static int trees;

  /** What a leader knows to be committed, and what it was committing when it ended. */
  private static final class History {
    final SortedMap<Long, Ring> acknowledged = new TreeMap<>();

    /** What each generation says of arrays, acknowledged or not. */
    final Map<Long, Optional<LatestArrays>> arrays = new HashMap<>();

    Optional<Ring> underWay = Optional.empty();

    void acknowledge(Ring ring) {
      acknowledged.put(ring.generation(), ring);
      underWay = Optional.empty();
    }
  }

  @BeforeContainer
  static void open() throws Exception {
    server = TestZooKeeper.start();
    client = ZooKeeperClient.create(server.getConnectString());
    client.start();
  }

  @AfterContainer
  static void close() throws Exception {
    client.close();
    server.close();
  }

  @Property(tries = 20)
  void nothingAcknowledgedIsLost(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    Tree tree = plant();
    History history = new History();
    Optional<StoredService> last = Optional.empty();
    for (int leader = 1; leader <= LEADERS; leader++) {
      Epoch epoch = lead(tree);
      CrashingStore crashing =
          new CrashingStore(
              ZooKeeperStore.of(client, tree), random.nextInt(WRITES_MAX), random.nextBoolean());
      Sizes sizes = random.nextInt(4) == 0 ? new Sizes(1 << 20, 1 << 19) : new Sizes(200, 150);
      ServiceRepository repository =
          repository(new ServiceStore(crashing.store(), tree, DEADLINE, sizes));
      checkFenced(tree, epoch, last, random);
      try {
        last = work(repository, epoch, tree, history, random);
      } catch (CrashingStore.Crash e) {
        last = check(tree, history);
      }
    }
  }

  /** As a leader does: takes over, then commits, and writes snapshots between, until it ends. */
  private static Optional<StoredService> work(
      ServiceRepository repository, Epoch epoch, Tree tree, History history, Random random)
      throws Exception {
    StoredService service;
    Optional<StoredService> found = repository.read("web");
    if (found.isPresent()) {
      service = found.get();
      repository.removeOld(epoch, service);
      checkNoOrphans(tree, service);
    } else {
      ServiceImage empty = ServiceImage.create(config(tree), 1_700_000_000);
      history.underWay = Optional.of(empty.ring());
      history.arrays.put(empty.ring().generation(), Optional.empty());
      service = repository.create(epoch, empty);
    }
    history.acknowledge(service.image().ring());
    Optional<SnapshotWrite> snapshot = Optional.empty();
    for (int step = 0; step < WRITES_MAX; step++) {
      if (snapshot.isEmpty()
          && random.nextInt(5) == 0
          && service.state().generations().snapshot() < service.image().ring().generation()) {
        snapshot = Optional.of(ServiceRepository.snapshot(service));
      }
      if (snapshot.isPresent() && random.nextInt(4) > 0) {
        if (!repository.writeNext(epoch, service, snapshot.get())) {
          service = repository.publish(epoch, service, snapshot.get());
          snapshot = Optional.empty();
        }
        continue;
      }
      Delta delta = RandomDeltas.next(service.image().ring(), random);
      Ring next = service.image().ring().apply(delta);
      history.underWay = Optional.of(next);
      Optional<ArraysWrite> arrays =
          arrays(service.state().arrays(), next.generation(), random.nextInt(6));
      history.arrays.put(
          next.generation(), arrays.map(ArraysWrite::latest).or(service.state()::arrays));
      service =
          repository.commit(epoch, service, new ServiceImage(config(tree), next), delta, arrays);
      if (arrays.isPresent()) {
        ServiceStore store = repository.store();
        for (long old : store.unnamedArrays(service.state(), arrays.map(ArraysWrite::latest))) {
          store.removeArrays(epoch, service.state(), old);
        }
      }
      history.acknowledge(next);
    }
    return Optional.of(service);
  }

  /** Mostly none; else new arrays as a whole or a patch, or none before the newest any more. */
  private static Optional<ArraysWrite> arrays(
      Optional<LatestArrays> before, long next, int choice) {
    if (choice == 0) {
      return Optional.of(
          ArraysWrite.ofWhole(
              bytes("whole %d;".formatted(next).repeat(20)),
              before.map(latest -> latest.replaced(next)).orElse(LatestArrays.first(next))));
    }
    if (choice == 1 && before.isPresent()) {
      return Optional.of(
          ArraysWrite.ofPatch(
              bytes("patch %d;".formatted(next).repeat(20)), before.get().patched(next)));
    }
    return choice == 2
        ? before.map(latest -> ArraysWrite.ofNothing(latest.settled()))
        : Optional.empty();
  }

  /** What a reader finds after the crash. */
  private static Optional<StoredService> check(Tree tree, History history) throws Exception {
    Optional<StoredService> found =
        repository(new ServiceStore(ZooKeeperStore.of(client, tree), tree, DEADLINE)).read("web");
    if (history.acknowledged.isEmpty() && found.isEmpty()) {
      return found;
    }
    Ring ring = found.orElseThrow().image().ring();
    Ring acknowledged =
        history.acknowledged.isEmpty()
            ? null
            : history.acknowledged.get(history.acknowledged.lastKey());
    if (acknowledged == null || ring.generation() > acknowledged.generation()) {
      assertThat(ring).isEqualTo(history.underWay.orElseThrow());
    } else {
      assertThat(ring).isEqualTo(acknowledged);
    }
    replay(tree, history, ring);
    checkArrays(tree, history, found.get());
    return found;
  }

  /** Every generation that is kept, one after another from the oldest whole snapshot on. */
  private static void replay(Tree tree, History history, Ring latest) throws Exception {
    long from = number(tree.latestSnapshot("web"));
    Ring ring =
        DeltaCodec.decodeSnapshot(
            ChunkNodes.read(client, tree.snapshot("web", from)),
            latest.service(),
            from,
            latest.buckets());
    while (ring.generation() < latest.generation()) {
      assertThat(ring).isEqualTo(history.acknowledged.get(ring.generation()));
      byte[] delta = ChunkNodes.read(client, tree.delta("web", ring.generation() + 1));
      ring = ring.apply(DeltaCodec.decodeDelta(delta, ring));
    }
    assertThat(ring).isEqualTo(latest);
  }

  /**
   * Which arrays are the newest is committed with their generation, and all that it names is there.
   */
  private static void checkArrays(Tree tree, History history, StoredService found)
      throws Exception {
    Optional<LatestArrays> latest = found.state().arrays();
    assertThat(latest).isEqualTo(history.arrays.get(found.image().ring().generation()));
    if (latest.isEmpty()) {
      return;
    }
    ServiceStore store = new ServiceStore(ZooKeeperStore.of(client, tree), tree, DEADLINE);
    List<LatestArrays.Source> sources = new ArrayList<>(List.of(latest.get().newest()));
    latest.get().before().ifPresent(sources::add);
    for (LatestArrays.Source source : sources) {
      List<byte[]> expected = new ArrayList<>();
      expected.add(bytes("whole %d;".formatted(source.whole()).repeat(20)));
      source
          .patches()
          .forEach(patch -> expected.add(bytes("patch %d;".formatted(patch).repeat(20))));
      assertThat(store.readArrays("web", source)).containsExactlyElementsOf(expected);
    }
  }

  /** A leader of an earlier epoch that continues writes nothing. */
  private static void checkFenced(
      Tree tree, Epoch epoch, Optional<StoredService> last, Random random) throws Exception {
    if (last.isEmpty()) {
      return;
    }
    StoredService service = last.get();
    Delta delta = RandomDeltas.next(service.image().ring(), random);
    ServiceImage next =
        new ServiceImage(service.image().config(), service.image().ring().apply(delta));
    Epoch before = new Epoch(epoch.number() - 1, Version.after(epoch.version().writes() - 1));
    ServiceRepository repository =
        repository(
            new ServiceStore(ZooKeeperStore.of(client, tree), tree, DEADLINE, new Sizes(200, 150)));
    assertThatThrownBy(() -> repository.commit(before, service, next, delta))
        .isInstanceOf(StoreException.Fenced.class);
  }

  private static void checkNoOrphans(Tree tree, StoredService service) throws Exception {
    List<String> kept = new ArrayList<>(client.getChildren().forPath(tree.generations("web")));
    Collections.sort(kept);
    assertThat(Long.parseLong(kept.get(kept.size() - 1)))
        .isEqualTo(service.image().ring().generation());
    assertThat(kept).contains("%010d".formatted(service.state().generations().snapshot()));
  }

  private static ServiceRepository repository(ServiceStore store) {
    return new ServiceRepository(store);
  }

  private static Tree plant() throws Exception {
    Tree tree = new Tree("/fairlead" + trees++);
    for (String path : List.of(tree.epoch(), tree.services())) {
      client.create().creatingParentsIfNeeded().forPath(path, bytes("0"));
    }
    client
        .create()
        .forPath(tree.serviceIds(), bytes("{\"format\":1,\"last\":0,\"first\":1,\"free\":{}}"));
    return tree;
  }

  private static Epoch lead(Tree tree) throws Exception {
    int version = client.setData().forPath(tree.epoch(), bytes("1")).getVersion();
    return new Epoch(version, Version.after(version));
  }

  private static ServiceConfig config(Tree tree) {
    return ServiceConfig.builder(1, "web")
        .vips(List.of("10.99.0.1"))
        .ports(List.of(new ServiceConfig.Port("tcp", 80)))
        .buckets(256)
        .hash(Hash.SIPHASH)
        .hashKey("000102030405060708090a0b0c0d0e0f")
        .windowSeconds(240)
        .build();
  }

  private static long number(String path) throws Exception {
    return Long.parseLong(new String(client.getData().forPath(path), StandardCharsets.US_ASCII));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
