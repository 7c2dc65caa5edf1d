// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.ServiceIds;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.SnapshotWrite;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ServiceRepositoryTest {
  private static final long TODAY = System.currentTimeMillis() / 1000;
  private static final Tree TREE = new Tree("/fairlead");
  private static final long NOW = 1_700_000_000;

  private TestingServer server;
  private CuratorFramework client;
  private ServiceRepository repository;
  private Epoch epoch;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    client = CuratorFrameworkFactory.newClient(server.getConnectString(), new RetryOneTime(100));
    client.start();
    Roots.create(ZooKeeperStore.of(client, TREE), TREE);
    repository =
        new ServiceRepository(
            new ServiceStore(ZooKeeperStore.of(client, TREE), TREE, Duration.ofSeconds(5)));
    epoch = new Epoch(1, Version.after(0));
  }

  @AfterEach
  void close() throws Exception {
    client.close();
    server.close();
  }

  @Test
  void whatIsCommittedIsRead() throws Exception {
    StoredService service = repository.create(epoch, image(256));
    for (int i = 0; i < 5; i++) {
      service = commit(service, i);
    }
    StoredService read = repository.read("web").orElseThrow();
    assertThat(read).isEqualTo(service);
    StoredService withSnapshot = snapshot(service);
    assertThat(repository.read("web").orElseThrow()).isEqualTo(withSnapshot);
  }

  @Test
  void aLeaderOfAnEarlierEpochWritesNothing() throws Exception {
    StoredService service = commit(repository.create(epoch, image(256)), 1);
    client.setData().forPath(TREE.epoch(), bytes("2"));
    List<String> before = tree("/fairlead");
    assertThatThrownBy(() -> commit(service, 2)).isInstanceOf(StoreException.Fenced.class);
    assertThatThrownBy(() -> repository.delete(epoch, service))
        .isInstanceOf(StoreException.Fenced.class);
    assertThatThrownBy(() -> repository.create(epoch, named("other", 2)))
        .isInstanceOf(StoreException.Fenced.class);
    assertThatThrownBy(() -> repository.changeConfig(epoch, service, service.image()))
        .isInstanceOf(StoreException.Fenced.class);
    assertThatThrownBy(() -> snapshot(service)).isInstanceOf(StoreException.class);
    assertThat(tree("/fairlead")).isEqualTo(before);
  }

  @Test
  void aGenerationThatAnotherLeaderCommittedIsNotOverwritten() throws Exception {
    StoredService service = repository.create(epoch, image(256));
    StoredService theirs = commit(service, 1);
    assertThatThrownBy(() -> commit(service, 2))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("generation 2 of service 'web'");
    assertThat(repository.read("web").orElseThrow()).isEqualTo(theirs);
  }

  @Test
  void deltasAndSnapshotsAboveTheLimitOfARequestAreChunked() throws Exception {
    int buckets = 1 << 20;
    StoredService service = repository.create(epoch, image(buckets));
    service = commit(service, 1);
    service = commit(service, 2);
    List<String> chunks = client.getChildren().forPath(TREE.delta("web", 3));
    assertThat(chunks).hasSizeGreaterThan(2);
    assertThat(repository.read("web").orElseThrow()).isEqualTo(service);
    service = snapshot(service);
    assertThat(client.getChildren().forPath(TREE.snapshot("web", 3))).hasSizeGreaterThan(2);
    assertThat(repository.read("web").orElseThrow()).isEqualTo(service);
    for (String parent : List.of(TREE.delta("web", 3), TREE.snapshot("web", 3))) {
      for (String chunk : client.getChildren().forPath(parent)) {
        assertThat(client.getData().forPath(parent + "/" + chunk).length)
            .as("%s/%s", parent, chunk)
            .isBetween(1, 512 * 1024);
      }
    }
  }

  @Test
  void orphansAreRemovedAndTheirGenerationCommitted() throws Exception {
    StoredService service = commit(repository.create(epoch, image(256)), 1);
    String orphan = TREE.generation("web", 3);
    client.create().creatingParentsIfNeeded().forPath(orphan + "/delta/0000", bytes("half"));
    assertThat(repository.read("web").orElseThrow()).isEqualTo(service);
    StoredService next = commit(service, 2);
    assertThat(repository.read("web").orElseThrow()).isEqualTo(next);

    client
        .create()
        .creatingParentsIfNeeded()
        .forPath(TREE.generation("web", 4) + "/delta/0000", bytes("half"));
    repository.removeOld(epoch, next);
    assertThat(client.checkExists().forPath(TREE.generation("web", 4))).isNull();
    assertThat(repository.read("web").orElseThrow()).isEqualTo(next);
  }

  @Test
  void commitsGoOnWhileASnapshotIsWritten() throws Exception {
    StoredService service = repository.create(epoch, image(1 << 20));
    service = commit(commit(service, 1), 2);
    long deltaBytes = service.state().generations().deltaBytes();
    SnapshotWrite snapshot = ServiceRepository.snapshot(service);
    int chunks = 1;
    for (; repository.writeNext(epoch, service, snapshot); chunks++) {
      service = commit(service, 10 + chunks);
      assertThat(repository.read("web").orElseThrow()).isEqualTo(service);
    }
    assertThat(client.getChildren().forPath(TREE.snapshot("web", 3))).hasSize(chunks);
    assertThat(service.state().generations().snapshot()).isEqualTo(1);
    StoredService published = repository.publish(epoch, service, snapshot);
    assertThat(published.state().generations().snapshot()).isEqualTo(3);
    assertThat(published.state().generations().deltaBytes())
        .isEqualTo(service.state().generations().deltaBytes() - deltaBytes);
    assertThat(repository.read("web").orElseThrow()).isEqualTo(published);
  }

  @Test
  void anInterruptedSnapshotIsStartedAgain() throws Exception {
    StoredService service = commit(commit(repository.create(epoch, image(1 << 20)), 1), 2);
    assertThat(repository.writeNext(epoch, service, ServiceRepository.snapshot(service))).isTrue();
    assertThat(repository.read("web").orElseThrow()).isEqualTo(service);
    StoredService published = snapshot(service);
    assertThat(repository.read("web").orElseThrow()).isEqualTo(published);
  }

  @Test
  void onlyGenerationsThatNoReaderNeedsAreDeleted() throws Exception {
    StoredService service = repository.create(epoch, image(256));
    for (int i = 0; i < 29; i++) {
      service = commit(service, i);
    }
    repository.removeOld(epoch, service);
    assertThat(client.getChildren().forPath(TREE.generations("web"))).hasSize(30);
    service = snapshot(service);
    List<String> kept = new ArrayList<>(client.getChildren().forPath(TREE.generations("web")));
    assertThat(kept).hasSize(16).contains("0000000015", "0000000030");
    assertThat(repository.read("web").orElseThrow()).isEqualTo(service);
  }

  @Test
  void theRestOfADeletedServiceGoesAndALivingOneStays() throws Exception {
    StoredService service = commit(repository.create(epoch, image(256)), 1);
    repository.store().removeRest(epoch, "web");
    assertThat(repository.read("web")).isPresent();
    repository.delete(epoch, service);
    assertThat(repository.read("web")).isEmpty();
    assertThat(repository.store().names()).containsExactly("web");
    assertThat(repository.store().serviceIds().isTaken(1)).as("it can be brought back").isTrue();
    StoredService again = repository.create(epoch, named("web", 2));
    assertThat(repository.store().serviceIds().free().get(1).generation()).isEqualTo(3);
    assertThat(repository.read("web").orElseThrow()).isEqualTo(again);
    repository.delete(epoch, again);
    repository.store().removeRest(epoch, "web");
    assertThat(repository.store().names()).isEmpty();
    ServiceIds ids = repository.store().serviceIds();
    assertThat(ids.last()).isEqualTo(2);
    assertThat(ids.free().keySet()).containsExactly(1, 2);
    long day = ServiceIds.QUARANTINE.toSeconds();
    ServiceIds.Next next = ids.next(Instant.ofEpochSecond(ids.nextAt())).orElseThrow();
    assertThat(next).isEqualTo(new ServiceIds.Next(1, 3));
    assertThat(ids.nextAt() - day).isBetween(TODAY - 60, TODAY + 600);
    repository.create(epoch, named("api", 1).startingAt(next.generation()));
    assertThat(repository.store().serviceIds().isTaken(1)).isTrue();
  }

  @Test
  void aDamagedServiceIsNamed() throws Exception {
    StoredService service = commit(repository.create(epoch, image(256)), 1);
    assertThat(service.state().generations().latestVersion()).isEqualTo(Version.after(1));
    String chunk = Tree.chunk(TREE.delta("web", 2), 0);
    byte[] delta = client.getData().forPath(chunk);
    delta[delta.length - 1] ^= 1;
    client.setData().forPath(chunk, delta);
    assertThatThrownBy(() -> repository.read("web"))
        .isInstanceOf(StoreException.Damaged.class)
        .hasMessageContaining("web");
    client.delete().forPath(chunk);
    assertThatThrownBy(() -> repository.read("web")).isInstanceOf(StoreException.Damaged.class);
    client.setData().forPath(TREE.config("web"), bytes("{\"format\": 2}"));
    assertThatThrownBy(() -> repository.read("web")).isInstanceOf(StoreException.Damaged.class);
  }

  private static ServiceImage image(int buckets) {
    return named("web", 1, buckets);
  }

  private static ServiceImage named(String name, int id) {
    return named(name, id, 256);
  }

  private static ServiceImage named(String name, int id, int buckets) {
    ServiceConfig config =
        ServiceConfig.builder(id, name)
            .vips(List.of("10.99.0.1"))
            .ports(List.of(new ServiceConfig.Port("tcp", 80)))
            .buckets(buckets)
            .hash(Hash.SIPHASH)
            .hashKey("000102030405060708090a0b0c0d0e0f")
            .windowSeconds(240)
            .build();
    return ServiceImage.create(config, NOW);
  }

  /**
   * Commits a generation in which 100 backends share the buckets at random, which compresses badly.
   */
  private StoredService commit(StoredService before, int seed) throws Exception {
    Ring ring = before.image().ring();
    Random random = new Random(seed);
    List<Backend> backends = new ArrayList<>();
    for (int id = 1; id <= 100; id++) {
      Address address = new Address(0, 0xffff_0a01_0000L + id);
      backends.add(new Backend(id, address, 1 + random.nextInt(100), false));
    }
    char[] next = new char[ring.buckets()];
    for (int bucket = 0; bucket < next.length; bucket++) {
      next[bucket] = (char) (1 + random.nextInt(100));
    }
    Runs moves = Runs.between(ring, next);
    Delta delta =
        Delta.after(ring, NOW + seed, backends, moves)
            .releasing(ring.overflow(moves, History.most(false), Set.of(), 0));
    ServiceImage after = new ServiceImage(before.image().config(), ring.apply(delta));
    return repository.commit(epoch, before, after, delta);
  }

  private List<String> tree(String path) throws Exception {
    List<String> paths = new ArrayList<>(List.of(path));
    for (String child : client.getChildren().forPath(path)) {
      paths.addAll(tree(path + "/" + child));
    }
    return paths;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private StoredService snapshot(StoredService service) throws StoreException {
    SnapshotWrite snapshot = ServiceRepository.snapshot(service);
    while (repository.writeNext(epoch, service, snapshot)) {
      // until its last chunk
    }
    return repository.publish(epoch, service, snapshot);
  }
}
