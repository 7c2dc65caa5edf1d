// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.FreePorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EmbeddedZooKeeperTest {
  @TempDir private Path directory;

  @Test
  void dataSurviveARestart() throws Exception {
    try (EmbeddedZooKeeper zookeeper = EmbeddedZooKeeper.start(directory, FreePorts.nextAddress());
        CuratorFramework client = client(zookeeper)) {
      client.create().forPath("/kept", "yes".getBytes(StandardCharsets.US_ASCII));
    }
    try (EmbeddedZooKeeper zookeeper = EmbeddedZooKeeper.start(directory, FreePorts.nextAddress());
        CuratorFramework client = client(zookeeper)) {
      assertThat(client.getData().forPath("/kept")).asString().isEqualTo("yes");
    }
    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files.filter(file -> file.toString().endsWith(".properties"))).hasSize(1);
    }
  }

  @Test
  void aDirectoryHasOneServer() throws Exception {
    try (EmbeddedZooKeeper first = EmbeddedZooKeeper.start(directory, FreePorts.nextAddress())) {
      assertThatThrownBy(() -> EmbeddedZooKeeper.start(directory, FreePorts.nextAddress()))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("in use by another");
      assertThat(first.connectString()).startsWith("127.0.0.1:");
    }
    EmbeddedZooKeeper.start(directory, FreePorts.nextAddress()).close();
  }

  @Test
  void aTakenPortIsAnErrorThatNamesIt() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      InetSocketAddress listen = new InetSocketAddress("127.0.0.1", taken.getLocalPort());
      assertThatThrownBy(() -> EmbeddedZooKeeper.start(directory, listen))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("cannot listen on 127.0.0.1:%d: ", taken.getLocalPort());
    }
    EmbeddedZooKeeper.start(directory, FreePorts.nextAddress()).close();
  }

  @Test
  void portZeroPicksAFreeOne() throws Exception {
    InetSocketAddress any = new InetSocketAddress("127.0.0.1", 0);
    try (EmbeddedZooKeeper zookeeper = EmbeddedZooKeeper.start(directory, any);
        CuratorFramework client = client(zookeeper)) {
      assertThat(client.checkExists().forPath("/")).isNotNull();
    }
  }

  private static CuratorFramework client(EmbeddedZooKeeper zookeeper) {
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(zookeeper.connectString(), new RetryOneTime(100));
    client.start();
    return client;
  }
}
