// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.store.ZooKeeperAccess;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A controller with logins, at a ZooKeeper in which anyone could write: until it has seen that and
 * gives up, it answers, and would forward callers' tokens to whom a stranger names as the leader.
 */
class OpenTreeTest {
  private static final String EVIL = "http://127.0.0.1:9";

  @TempDir private Path directory;

  private static void plant(CuratorFramework by, String path, String text) throws Exception {
    by.create()
        .creatingParentsIfNeeded()
        .withMode(CreateMode.EPHEMERAL)
        .forPath(path, text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void itFollowsNobodyWhomAStrangerNames() throws Exception {
    Path file =
        Files.writeString(directory.resolve("login"), "controllers:password1\nreaders:password2\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    try (TestingServer server = TestZooKeeper.start();
        CuratorFramework stranger =
            CuratorFrameworkFactory.newClient(server.getConnectString(), new RetryOneTime(100))) {
      stranger.start();
      plant(
          stranger,
          "/fairlead/leader",
          "{\"format\":1,\"id\":\"evil\",\"epoch\":1,\"url\":\"%s\"}".formatted(EVIL));
      plant(stranger, "/fairlead/election/x", "evil/127.0.0.1:9");
      plant(
          stranger,
          "/fairlead/muxes/evil/live",
          "{\"format\":1,\"version\":\"1\",\"address\":\"127.0.0.1\",\"ports\":[],\"services\":{}}");
      try (FairleadController controller =
          FairleadController.open(
              ControllerOptions.of(
                      server.getConnectString(),
                      FreePorts.nextAddress(),
                      "/fairlead",
                      "ours",
                      InstantSource.system())
                  .withProtectsOpen(false)
                  .with(
                      Optional.of(
                          ZooKeeperAccess.read(new SecretFile("--zookeeper-auth", file)))))) {
        await()
            .atMost(Duration.ofSeconds(30))
            .during(Duration.ofSeconds(1))
            .until(
                () -> {
                  assertThat(controller.plane().health().leaderUrl()).isEmpty();
                  assertThat(controller.muxes().get()).isEmpty();
                  assertThat(controller.targets().list(Optional.empty()).toString())
                      .doesNotContain("evil", "127.0.0.1:9");
                  return controller.refusal().isPresent();
                });
      }
    }
  }
}
