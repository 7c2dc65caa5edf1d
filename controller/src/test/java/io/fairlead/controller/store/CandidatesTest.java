// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Which controllers take part in the election, and what is logged if that is not known. */
class CandidatesTest {
  private final Tree tree = new Tree("/fairlead");
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final Logger logger = (Logger) LoggerFactory.getLogger(Election.class);

  @BeforeEach
  void listen() {
    logged.start();
    logger.addAppender(logged);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(logged);
  }

  @Test
  void anEmptyClusterHasNoneWhichIsNoFault() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        CuratorFramework client = ZooKeeperClient.create(server.getConnectString())) {
      client.start();
      assertThat(Election.candidates(ZooKeeperStore.of(client, tree), tree)).isEmpty();
      assertThat(logged.list).isEmpty();

      byte[] id = "controller-1".getBytes(StandardCharsets.UTF_8);
      client.create().creatingParentsIfNeeded().forPath(tree.election() + "/latch-1", id);
      assertThat(Election.candidates(ZooKeeperStore.of(client, tree), tree))
          .containsExactly("controller-1");
      assertThat(logged.list).isEmpty();
    }
  }

  @Test
  void aClientThatCannotAskIsLogged() {
    try (CuratorFramework notStarted = ZooKeeperClient.create("127.0.0.1:1")) {
      assertThat(Election.candidates(ZooKeeperStore.of(notStarted, tree), tree)).isEmpty();
      assertThat(logged.list).hasSize(1);
    }
  }
}
