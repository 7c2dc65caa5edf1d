// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.Progress;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Generations as bytes that are opaque to the store. */
class ServiceStoreTest {
  private static final Tree TREE = new Tree("/fairlead");
  private static final Epoch EPOCH = new Epoch(0, Version.after(0));
  private static final Sizes SMALL = new Sizes(200, 150);

  private TestingServer server;
  private CuratorFramework client;
  private ServiceStore store;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    client = ZooKeeperClient.create(server.getConnectString());
    client.start();
    Roots.create(ZooKeeperStore.of(client, TREE), TREE);
    store = new ServiceStore(ZooKeeperStore.of(client, TREE), TREE, Duration.ofSeconds(5), SMALL);
  }

  @AfterEach
  void close() throws Exception {
    client.close();
    server.close();
  }

  /** In one step, or with chunks written ahead. */
  @ParameterizedTest
  @ValueSource(ints = {10, 1000})
  void allBytesOfAGenerationAreThereOnceItIsTheLatest(int size) throws Exception {
    ServiceState state = create(size);
    Generation next =
        Generation.of(2, Generation.DELTA, bytes(size, 2))
            .with(Generation.ARRAYS, bytes(2 * size, 3));
    state = store.commit(EPOCH, state, state.config(), Progress.NONE, next);
    ServiceReading read = store.read("web").orElseThrow();
    assertThat(read.state()).isEqualTo(state);
    assertThat(read.snapshot().orElseThrow()).isEqualTo(bytes(size, 1));
    assertThat(read.deltas()).containsExactly(bytes(size, 2));
    assertThat(
            new Chunks(ZooKeeperStore.of(client, TREE))
                .read(TREE.blob("web", 2, Generation.ARRAYS)))
        .isEqualTo(bytes(2 * size, 3));
    assertThat(state.generations().deltaBytes()).as("of deltas alone").isEqualTo(size);
  }

  @Test
  void aReaderThatKnowsAGenerationGetsOnlyWhatFollows() throws Exception {
    ServiceState first = create(10);
    ServiceState second = store.commit(EPOCH, first, first.config(), Progress.NONE, delta(2));
    ServiceReading read = store.readCommitted("web", Optional.of(first)).orElseThrow();
    assertThat(read.state()).isEqualTo(second);
    assertThat(read.snapshot()).isEmpty();
    assertThat(read.deltas()).containsExactly(bytes(10, 2));
    ServiceReading same = store.readCommitted("web", Optional.of(second)).orElseThrow();
    assertThat(same.state()).isSameAs(second);
    assertThat(same.deltas()).isEmpty();
  }

  @Test
  void aGenerationOfOtherBytesIsNotTakenForOnesOwn() throws Exception {
    ServiceState first = create(10);
    store.commit(EPOCH, first, first.config(), Progress.NONE, delta(2));
    Generation other = delta(2).with(Generation.ARRAYS, bytes(10, 9));
    assertThatThrownBy(() -> store.commit(EPOCH, first, first.config(), Progress.NONE, other))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("generation 2 of service 'web'");
    assertThat(client.checkExists().forPath(TREE.blob("web", 2, Generation.ARRAYS))).isNull();
  }

  private ServiceState create(int size) throws StoreException {
    ServiceConfig config =
        ServiceConfig.builder(1, "web")
            .vips(List.of("10.99.0.1"))
            .ports(List.of(new ServiceConfig.Port("tcp", 80)))
            .buckets(256)
            .hash(Hash.SIPHASH)
            .hashKey("000102030405060708090a0b0c0d0e0f")
            .windowSeconds(240)
            .build();
    Generation first = Generation.of(1, Generation.SNAPSHOT, bytes(size, 1));
    return store.create(EPOCH, config, Progress.NONE, first);
  }

  private static Generation delta(long number) {
    return Generation.of(number, Generation.DELTA, bytes(10, (int) number));
  }

  private static byte[] bytes(int size, int value) {
    byte[] bytes = new byte[size];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }
}
