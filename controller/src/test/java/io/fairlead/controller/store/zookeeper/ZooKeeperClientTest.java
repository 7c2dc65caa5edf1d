// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.FreePorts;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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

  /**
   * As while servers start or elect: they accept, and close. By default the client would wait up to
   * 1 s at random before each attempt, 0.6 s in the middle.
   *
   * @param hadSession false: as one that starts meanwhile, or that replaces a lost session
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aClientTriesAgainAtOnce(boolean hadSession) throws Exception {
    int port = FreePorts.next();
    List<Double> gaps = new ArrayList<>();
    try (TestingServer server = new TestingServer(port, hadSession);
        CuratorFramework client = ZooKeeperClient.create("127.0.0.1:" + port)) {
      client.start();
      if (hadSession) {
        assertThat(client.blockUntilConnected(30, TimeUnit.SECONDS)).isTrue();
        server.stop();
      }
      try (ServerSocket electing = new ServerSocket(port, 50, InetAddress.getLoopbackAddress())) {
        electing.setSoTimeout(30_000);
        electing.accept().close();
        for (int attempt = 0; attempt < 20; attempt++) {
          long start = System.nanoTime();
          electing.accept().close();
          gaps.add((System.nanoTime() - start) / 1e9);
        }
      }
      server.restart();
      assertThat(client.blockUntilConnected(30, TimeUnit.SECONDS)).isTrue();
    }
    Collections.sort(gaps);
    System.out.printf("ZooKeeperClientTest: an attempt each %.2f s%n", gaps.get(10));
    assertThat(gaps.get(10)).isLessThan(0.4);
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
