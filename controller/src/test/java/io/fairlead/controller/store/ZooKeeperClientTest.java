// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;

class ZooKeeperClientTest {
  /** As at a start; by default the client would wait 6 s. */
  @Test
  void aServerThatAcceptsAndDoesNotAnswerIsGivenUpSoon() throws Exception {
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        CuratorFramework client = ZooKeeperClient.create("127.0.0.1:" + mute.getLocalPort())) {
      mute.setSoTimeout(10_000);
      client.start();
      for (int attempt = 0; attempt < 2; attempt++) {
        try (Socket socket = mute.accept()) {
          long start = System.nanoTime();
          socket.setSoTimeout(10_000);
          InputStream in = socket.getInputStream();
          assertThat(in.readAllBytes()).as("sent to a client that asks nothing").isNotNull();
          assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(4));
        }
      }
    }
  }

  /** With SASL it would ask DNS for the server's name, and without an answer never connect. */
  @Test
  void itDoesNotAskForNamesOfServers() throws Exception {
    try (CuratorFramework client = ZooKeeperClient.create("127.0.0.1:1")) {
      client.start();
      assertThat(client.getZookeeperClient().getZooKeeper().getClientConfig().isSaslClientEnabled())
          .isFalse();
    }
  }
}
