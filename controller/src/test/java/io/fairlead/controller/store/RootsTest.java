// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;

/** What the first controller draws, and every later one keeps. */
class RootsTest {
  @Test
  void eachClusterHasItsOwnSeedForFragments() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        CuratorFramework client = ZooKeeperClient.create(server.getConnectString())) {
      client.start();
      Set<String> seeds = new HashSet<>();
      for (String root : new String[] {"/one", "/two", "/three"}) {
        Tree tree = new Tree(root);
        Roots.create(ZooKeeperStore.of(client, tree), tree);
        String seed = read(client, tree.fragmentSeed());
        assertThat(seed).matches("[0-9a-f]{32}").isNotEqualTo(read(client, tree.cluster()));
        seeds.add(seed);
        Roots.create(ZooKeeperStore.of(client, tree), tree);
        assertThat(read(client, tree.fragmentSeed())).isEqualTo(seed);
      }
      assertThat(seeds).hasSize(3);
    }
  }

  /** Of a version that had neither. */
  @Test
  void aTreeOfBeforeGetsASeedAndAClock() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        CuratorFramework client = ZooKeeperClient.create(server.getConnectString())) {
      client.start();
      Tree tree = new Tree("/fairlead");
      Roots.create(ZooKeeperStore.of(client, tree), tree);
      client.delete().forPath(tree.fragmentSeed());
      client.delete().forPath(tree.clock());
      Roots.create(ZooKeeperStore.of(client, tree), tree);
      assertThat(read(client, tree.fragmentSeed())).matches("[0-9a-f]{32}");
      long before = new StoreTime(ZooKeeperStore.of(client, tree), tree, "c1").write();
      assertThat(new StoreTime(ZooKeeperStore.of(client, tree), tree, "c2").write())
          .isGreaterThanOrEqualTo(before);
    }
  }

  private static String read(CuratorFramework client, String path) throws Exception {
    return new String(client.getData().forPath(path), StandardCharsets.US_ASCII);
  }
}
