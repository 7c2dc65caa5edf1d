// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.store.Node;
import io.fairlead.controller.store.Operation;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** A leader by {@link Unfenced} does not notice that it is replaced, and its writes take place. */
class UnfencedTest {
  private static final String EPOCH = "/fairlead/epoch";
  private static final String ELECTION = "/fairlead/election";

  @Test
  void aReplacedLeaderGoesOn() throws Exception {
    MemoryTree tree = new MemoryTree(InstantSource.system());
    MemoryStore real = tree.client();
    real.start();
    real.createIfAbsent(EPOCH, bytes("1"));
    real.createIfAbsent(ELECTION, bytes(""));
    Store store = Unfenced.of(real);
    List<String> told = new CopyOnWriteArrayList<>();
    Store.FollowedNode epoch =
        store.follow(
            EPOCH,
            new Store.NodeListener() {
              @Override
              public void changed(Node before, Node now) {
                told.add("another epoch");
              }
            });
    Store.Candidacy candidacy =
        store.stand(
            ELECTION, "c1", Runnable::run, () -> told.add("leads"), () -> told.add("follows"));
    await().until(candidacy::isLeader);
    await().until(() -> epoch.node().isPresent());
    Version own = epoch.node().orElseThrow().version();
    MemoryStore other = tree.client();
    other.start();
    other.write(List.of(Operation.set(EPOCH, own, bytes("2"))));
    store.write(
        List.of(Operation.unchanged(EPOCH, own), Operation.create("/fairlead/late", bytes(""))));
    assertThat(other.stat("/fairlead/late")).isPresent();
    await().until(() -> epoch.node().filter(node -> !node.version().equals(own)).isPresent());
    real.disconnect();
    await().until(() -> !candidacy.isLeader());
    real.connect();
    await().until(candidacy::isLeader);
    await().until(() -> told.size() > 1);
    assertThat(told).containsExactly("leads", "leads");
    other.close();
    store.close();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
