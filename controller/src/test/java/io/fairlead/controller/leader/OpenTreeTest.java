// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.store.Election;
import io.fairlead.controller.store.zookeeper.ZooKeeperAccess;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.NoAuthException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/**
 * A controller with logins, at a ZooKeeper in which anyone could write: until it has seen that and
 * gives up, it answers, and would forward callers' tokens to whom a stranger names as the leader.
 */
class OpenTreeTest {
  private static final String EVIL = "http://127.0.0.1:9";

  private static final String CONTROLLERS = "controllers:password1";
  private static final String STRANGER = "evil:evil";
  private static final String LEADER =
      "{\"format\":1,\"id\":\"evil\",\"epoch\":1,\"url\":\"%s\"}".formatted(EVIL);
  private static final String MUX =
      "{\"format\":1,\"version\":\"1\",\"address\":\"127.0.0.1\",\"ports\":[],\"services\":{}}";

  /** What all may read and its owner alone may change. */
  private static final List<ACL> OWN =
      Arrays.asList(
          new ACL(Perms.ALL, new Id("digest", ZooKeeperAccess.digest(STRANGER))),
          new ACL(Perms.READ, Ids.ANYONE_ID_UNSAFE));

  @TempDir private Path directory;

  private static void plant(
      CuratorFramework by, CreateMode mode, List<ACL> acl, String path, String text)
      throws Exception {
    by.create()
        .creatingParentsIfNeeded()
        .withMode(mode)
        .withACL(acl)
        .forPath(path, text.getBytes(StandardCharsets.UTF_8));
  }

  private static void plant(CuratorFramework by, String path, String text) throws Exception {
    plant(by, CreateMode.EPHEMERAL, Ids.OPEN_ACL_UNSAFE, path, text);
  }

  private static CuratorFramework session(TestingServer server, String login) {
    CuratorFramework session =
        CuratorFrameworkFactory.builder()
            .connectString(server.getConnectString())
            .retryPolicy(new RetryOneTime(100))
            .authorization("digest", login.getBytes(StandardCharsets.UTF_8))
            .build();
    session.start();
    return session;
  }

  private FairleadController open(TestingServer server, boolean protectsOpen) throws Exception {
    Path file =
        Files.writeString(directory.resolve("login"), CONTROLLERS + "\nreaders:password2\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    return Controllers.open(
        ControllerOptions.of(
                server.getConnectString(),
                FreePorts.nextAddress(),
                "/fairlead",
                "ours",
                InstantSource.system())
            .withClockCheck(false)
            .withProtectsOpen(protectsOpen)
            .with(Optional.of(ZooKeeperAccess.read(new SecretFile("--zookeeper-auth", file)))));
  }

  private static void checkNothingOfAStranger(FairleadController controller) {
    assertThat(controller.plane().health().leaderUrl()).isEmpty();
    assertThat(controller.muxes().get()).isEmpty();
    assertThat(controller.targets().list(Optional.empty()).toString())
        .doesNotContain("evil", "127.0.0.1:9");
  }

  @Test
  void itFollowsNobodyWhomAStrangerNames() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        CuratorFramework stranger = session(server, STRANGER)) {
      plant(stranger, "/fairlead/leader", LEADER);
      plant(stranger, "/fairlead/election/x", "evil/127.0.0.1:9");
      plant(stranger, "/fairlead/muxes/evil/live", MUX);
      try (FairleadController controller = open(server, false)) {
        await()
            .atMost(Duration.ofSeconds(30))
            .during(Duration.ofSeconds(1))
            .until(
                () -> {
                  checkNothingOfAStranger(controller);
                  return controller.refusal().isPresent();
                });
      }
    }
  }

  private interface Planting {
    void by(CuratorFramework stranger) throws Exception;
  }

  private static Stream<Arguments> plantings() {
    String election = "/fairlead/election";
    String first = election + "/latch-0000000000";
    String id = "evil/127.0.0.1:9";
    CreateMode persistent = CreateMode.PERSISTENT;
    CreateMode ephemeral = CreateMode.EPHEMERAL;
    List<ACL> open = Ids.OPEN_ACL_UNSAFE;
    return Stream.of(
        planting("a bare root", by -> plant(by, persistent, open, "/fairlead", "")),
        planting(
            "an open leader and election",
            by -> {
              plant(by, persistent, open, "/fairlead/leader", LEADER);
              plant(by, persistent, open, election, "");
            }),
        planting(
            "a leader of its own", by -> plant(by, persistent, OWN, "/fairlead/leader", LEADER)),
        planting(
            "a leader that ends with its session",
            by -> plant(by, ephemeral, OWN, "/fairlead/leader", LEADER)),
        planting("an open candidate", by -> plant(by, ephemeral, open, first, id)),
        planting("a candidate of its own", by -> plant(by, ephemeral, OWN, first, id)));
  }

  private static Arguments planting(String name, Planting planting) {
    return Arguments.of(name, planting);
  }

  /** With logins that are given for it: what the stranger made before counts for nothing. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("plantings")
  void aTreeThatAStrangerPreparedIsItsOwnFromTheStart(String name, Planting planting)
      throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        CuratorFramework stranger = session(server, STRANGER);
        CuratorFramework ours = session(server, CONTROLLERS)) {
      planting.by(stranger);
      try (FairleadController controller = open(server, true)) {
        await()
            .atMost(Duration.ofSeconds(30))
            .until(
                () -> {
                  checkNothingOfAStranger(controller);
                  return controller.awaitLeader(Duration.ofMillis(10));
                });
        checkNothingOfAStranger(controller);
        assertThat(ours.getChildren().forPath("/fairlead/muxes")).isEmpty();
        assertThat(ours.getChildren().forPath("/fairlead/health")).isEmpty();
        for (String path :
            List.of("/fairlead", "/fairlead/leader", "/fairlead/election", "/fairlead/muxes")) {
          assertThatThrownBy(() -> stranger.getData().forPath(path))
              .as(path)
              .isInstanceOf(NoAuthException.class);
          assertThatThrownBy(() -> stranger.create().forPath(path + "/settled"))
              .as(path)
              .isInstanceOf(NoAuthException.class);
        }
        assertThatThrownBy(() -> stranger.delete().forPath("/fairlead/leader"))
            .isInstanceOf(NoAuthException.class);
      }
    }
  }

  /** It neither follows nor leads, and says what to do. */
  @Test
  void whatControllersMayNotProtectIsNamed() throws Exception {
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.list = new CopyOnWriteArrayList<>();
    logged.start();
    Logger logger = (Logger) LoggerFactory.getLogger(Election.class);
    logger.addAppender(logged);
    try (TestingServer server = TestZooKeeper.start();
        CuratorFramework stranger = session(server, STRANGER)) {
      plant(stranger, CreateMode.PERSISTENT, OWN, "/fairlead/services", "");
      plant(stranger, "/fairlead/leader", LEADER);
      try (FairleadController controller = open(server, true)) {
        await()
            .atMost(Duration.ofSeconds(30))
            .until(
                () -> {
                  checkNothingOfAStranger(controller);
                  return logged.list.stream()
                      .map(ILoggingEvent::getFormattedMessage)
                      .anyMatch(
                          said ->
                              said.contains("/fairlead/services has an access list of its own")
                                  && said.contains("allowed: delete it as ZooKeeper's superuser"));
                });
        assertThat(controller.awaitLeader(Duration.ZERO)).isFalse();
      }
    } finally {
      logger.detachAppender(logged);
    }
  }
}
