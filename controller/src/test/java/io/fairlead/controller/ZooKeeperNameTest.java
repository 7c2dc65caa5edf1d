// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.store.zookeeper.EmbeddedZooKeeper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** ZooKeeper servers by name, whose addresses change while a controller runs. */
class ZooKeeperNameTest {
  private static final String NAME = "zookeeper.test";

  /** Java would keep the first address for 30 s. */
  private static final Duration ATTEMPTS = Duration.ofSeconds(20);

  private static void resolve(Path hosts, String address) throws Exception {
    Path next = hosts.resolveSibling("next");
    Files.writeString(next, "127.0.0.1 localhost\n%s %s\n".formatted(address, NAME));
    Files.move(next, hosts, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }

  @Test
  void aNameIsLookedUpForEachAttempt(@TempDir Path directory) throws Exception {
    Path hosts = directory.resolve("hosts");
    resolve(hosts, "127.0.0.2");
    try (EmbeddedZooKeeper zookeeper =
        EmbeddedZooKeeper.start(directory.resolve("zookeeper"), FreePorts.nextAddress())) {
      int port = Endpoint.parse("zookeeper", zookeeper.connectString()).port();
      CompletableFuture<ControllerProcess> started;
      try (ServerSocket former = new ServerSocket(port, 50, InetAddress.getByName("127.0.0.2"))) {
        started = CompletableFuture.supplyAsync(() -> start(directory, hosts, NAME + ":" + port));
        former.setSoTimeout(60_000);
        former.accept().close();
      }
      resolve(hosts, "127.0.0.1");
      try (ControllerProcess controller = started.get(ATTEMPTS.toSeconds(), TimeUnit.SECONDS)) {
        assertThat(controller.epoch()).isPositive();
      }
    }
  }

  private static ControllerProcess start(Path directory, Path hosts, String zookeeper) {
    try {
      return ControllerProcess.join(
          directory,
          Map.of("JAVA_TOOL_OPTIONS", "-Djdk.net.hosts.file=" + hosts),
          zookeeper,
          "--zookeeper-clear-text=on");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
