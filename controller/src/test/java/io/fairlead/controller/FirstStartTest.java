// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import io.fairlead.controller.ControllerProcess.Failed;
import io.fairlead.controller.http.ApiClient;
import io.fairlead.controller.secret.SecretsFolder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.KeeperException.NoAuthException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Controllers without a word about access, as processes: nothing is open, and nothing is lost. */
@Timeout(300)
class FirstStartTest {
  private static final String SERVICES = "/v1/services";

  @TempDir private Path directory;
  @TempDir private Path another;

  private record Done(int exit, String out, String err) {}

  /** fairleadctl of this host, without a token given. */
  private Done ctl(String... words) throws IOException, InterruptedException {
    Path out = Files.createTempFile(directory, "out", ".txt");
    Path err = Files.createTempFile(directory, "err", ".txt");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp"));
    command.addAll(List.of(System.getProperty("java.class.path"), CtlMain.class.getName()));
    command.addAll(List.of(words));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().keySet().removeIf(name -> name.startsWith("FAIRLEAD_"));
    Path secrets = ControllerProcess.secrets(directory).path();
    builder.environment().put(SecretsFolder.VARIABLE, secrets.toString());
    Process process = builder.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
    assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
    return new Done(process.exitValue(), Files.readString(out), Files.readString(err));
  }

  private static String mode(Path path) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
  }

  private static Set<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return Set.copyOf(files.map(path -> path.getFileName().toString()).toList());
    }
  }

  @Test
  void anEmptyClusterIsProtectedAndFairleadctlOfTheHostFindsTheToken() throws Exception {
    Path secrets = ControllerProcess.secrets(directory).path();
    String zookeeper = "127.0.0.1:" + FreePorts.next();
    Map<String, String> environment = Map.of("FAIRLEAD_CONTROLLER_ZOOKEEPER_LISTEN", zookeeper);
    String embedded = "embedded:" + directory.resolve("data");
    String token;
    try (ControllerProcess first = ControllerProcess.join(directory, environment, embedded)) {
      assertThat(first.said())
          .isEqualTo(
              "fairlead-controller made secrets in %s: admin-token, tokens, zookeeper-auth; fairleadctl finds the token there\n"
                  .formatted(secrets));
      assertThat(mode(secrets)).isEqualTo("rwx------");
      for (String name : List.of("admin-token", "tokens", "zookeeper-auth", "api")) {
        assertThat(mode(secrets.resolve(name))).as(name).isEqualTo("rw-------");
      }
      assertThat(first.log()).contains(" INFO ").doesNotContain(" WARN ", " ERROR ");
      token = ControllerProcess.token(directory);
      assertThat(token).matches("[0-9a-f]{64}");
      assertThat(Files.readString(secrets.resolve("tokens"))).doesNotContain(token);

      assertThat(new ApiClient(first.api()).get(SERVICES).status()).isEqualTo(401);
      assertThat(new ApiClient(first.api(), token).get(SERVICES).status()).isEqualTo(200);
      nobodyHasAnythingIn(zookeeper);

      Done found = ctl("cluster", "set", "--vip-range", "10.99.0.0/16");
      assertThat(found.err()).isEmpty();
      assertThat(found.exit()).isZero();
      assertThat(ctl("--api", "http://LocalHost:" + first.api().port() + "/", "whoami").out())
          .contains("admin");
    }
    try (ControllerProcess again = ControllerProcess.join(directory, environment, embedded)) {
      assertThat(again.said()).isEmpty();
      assertThat(new ApiClient(again.api(), token).get(SERVICES).status()).isEqualTo(200);
      assertThat(ctl("service", "list").exit()).isZero();
    }
  }

  /** Not in the tree and not beside it, by an anonymous client and by one with another login. */
  private static void nobodyHasAnythingIn(String zookeeper) throws Exception {
    for (String login : List.of("", "another:login-of-its-own")) {
      CuratorFrameworkFactory.Builder builder =
          CuratorFrameworkFactory.builder()
              .connectString(zookeeper)
              .ensembleTracker(false)
              .retryPolicy(new RetryOneTime(100));
      if (!login.isEmpty()) {
        builder.authorization("digest", login.getBytes(StandardCharsets.UTF_8));
      }
      try (CuratorFramework client = builder.build()) {
        client.start();
        for (String path : List.of("/", "/zookeeper", "/zookeeper/quota", "/fairlead")) {
          refused(path, () -> client.getChildren().forPath(path));
          refused(path, () -> client.create().forPath((path + "/mine").replace("//", "/")));
        }
        for (String path : List.of("/fairlead/epoch", "/fairlead/cluster", "/fairlead/leader")) {
          refused(path, () -> client.getData().forPath(path));
          refused(path, () -> client.setData().forPath(path, new byte[0]));
        }
        refused("election", () -> client.create().forPath("/fairlead/election/x"));
        refused("muxes", () -> client.create().forPath("/fairlead/muxes/x"));
      }
    }
  }

  private interface Attempt {
    void run() throws Exception;
  }

  private static void refused(String path, Attempt attempt) {
    assertThat(org.assertj.core.api.Assertions.catchThrowable(attempt::run))
        .as(path)
        .isInstanceOf(NoAuthException.class);
  }

  /** The token goes to the API that the folder names, and to no other. */
  @Test
  void theTokenIsSentToNobodyElse() throws Exception {
    Set<String> seen = new ConcurrentSkipListSet<>();
    HttpServer stranger =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    stranger.createContext(
        "/",
        exchange -> {
          seen.add(
              exchange.getRequestHeaders().getOrDefault("Authorization", List.of()).toString());
          exchange.sendResponseHeaders(404, -1);
          exchange.close();
        });
    stranger.start();
    try (TestingServer zookeeper = TestZooKeeper.start();
        ControllerProcess controller =
            ControllerProcess.join(directory, zookeeper.getConnectString())) {
      assertThat(ctl("service", "list").exit()).isZero();
      int port = stranger.getAddress().getPort();
      for (String url : List.of("http://127.0.0.1:" + port, "http://localhost:" + port)) {
        assertThat(ctl("--api", url, "service", "list").exit()).isEqualTo(3);
      }
      String https = "https://" + controller.api();
      assertThat(ctl("--api", https, "service", "list").exit()).isEqualTo(3);
      assertThat(seen).containsExactly("[]");
      Files.setPosixFilePermissions(
          ControllerProcess.secrets(directory).adminToken().path(),
          PosixFilePermissions.fromString("rw-r--r--"));
      Done open = ctl("service", "list");
      assertThat(open.exit()).isEqualTo(2);
      assertThat(open.err()).contains("admin-token' is refused: its mode is rw-r--r--");
    } finally {
      stranger.stop(0);
    }
  }

  @Test
  void aControllerOfAnotherHostNeedsACopy() throws Exception {
    try (TestingServer zookeeper = TestZooKeeper.start()) {
      String connect = zookeeper.getConnectString();
      Path copied = ControllerProcess.secrets(another).path();
      try (ControllerProcess first = ControllerProcess.join(directory, connect)) {
        assertThat(first.epoch()).isPositive();
        Failed stranger = ControllerProcess.fail(another, connect);
        assertThat(stranger.exit()).isEqualTo(1);
        assertThat(stranger.err())
            .contains(
                "fairlead-controller: /fairlead in ZooKeeper is protected by other logins than those of %s/zookeeper-auth; allowed: a copy of the folder %s of another controller of this cluster"
                    .formatted(copied, copied));
        assertThat(names(copied)).doesNotContain("tokens", "admin-token", "zookeeper-auth");
        for (String name : List.of("tokens", "admin-token", "zookeeper-auth")) {
          Files.copy(
              ControllerProcess.secrets(directory).path().resolve(name),
              copied.resolve(name),
              java.nio.file.StandardCopyOption.COPY_ATTRIBUTES);
        }
        try (ControllerProcess second = ControllerProcess.join(another, connect)) {
          assertThat(second.epoch()).as("follows").isZero();
          assertThat(
                  new ApiClient(second.api(), ControllerProcess.token(directory))
                      .send("PUT", "/v1/cluster", "{\"vipRanges\":[\"10.99.0.0/16\"]}")
                      .status())
              .as("forwarded")
              .isEqualTo(200);
        }
      }
      Failed open = ControllerProcess.fail(another, connect, "--open");
      assertThat(open.err()).contains("protected by other logins; allowed: --zookeeper-auth in");
      Path login =
          Files.writeString(another.resolve("login"), "controllers:guessed-it\nmuxes:12345678");
      Files.setPosixFilePermissions(login, PosixFilePermissions.fromString("rw-------"));
      Failed guess = ControllerProcess.fail(another, connect, "--zookeeper-auth=" + login);
      assertThat(guess.exit()).isEqualTo(1);
      assertThat(guess.err())
          .contains("other logins than those of %s; allowed: the file of the".formatted(login));
    }
  }

  /** Each round one gets the empty tree, and the other one ends or, too late to be first, also. */
  @Test
  void ofTwoAtOnceOneWins() throws Exception {
    try (TestingServer zookeeper = TestZooKeeper.start()) {
      String connect = zookeeper.getConnectString();
      CompletableFuture<Boolean> one =
          CompletableFuture.supplyAsync(() -> wins(directory, connect));
      CompletableFuture<Boolean> two = CompletableFuture.supplyAsync(() -> wins(another, connect));
      assertThat(List.of(one.get(), two.get())).containsExactlyInAnyOrder(true, false);
      Path loser = ControllerProcess.secrets(one.get() ? another : directory).path();
      assertThat(names(loser)).doesNotContain("tokens", "admin-token", "zookeeper-auth");
    }
  }

  private static boolean wins(Path folder, String connect) {
    try (ControllerProcess controller = ControllerProcess.join(folder, connect)) {
      return controller.epoch() > 0;
    } catch (IOException e) {
      return false; // ended
    }
  }

  @Test
  void twoOfOneHostShareWhatTheFirstHasMade() throws Exception {
    try (TestingServer zookeeper = TestZooKeeper.start();
        ControllerProcess first = ControllerProcess.join(directory, zookeeper.getConnectString());
        ControllerProcess second =
            ControllerProcess.join(directory, zookeeper.getConnectString())) {
      assertThat(second.said()).isEmpty();
      for (ControllerProcess each : List.of(first, second)) {
        assertThat(ctl("--api", "http://" + each.api(), "service", "list").exit()).isZero();
      }
    }
  }

  /** What was in use before is neither locked from its muxes nor served to everyone unasked. */
  @Test
  void anOpenTreeIsLeftAsItIs() throws Exception {
    try (TestingServer zookeeper = TestZooKeeper.start()) {
      String connect = zookeeper.getConnectString();
      try (ControllerProcess open = ControllerProcess.join(directory, connect, "--open")) {
        assertThat(open.said()).isEmpty();
        assertThat(new ApiClient(open.api()).get(SERVICES).status()).isEqualTo(200);
        assertThat(ControllerProcess.secrets(directory).path()).doesNotExist();
      }
      for (int i = 0; i < 2; i++) {
        Failed refused = ControllerProcess.fail(directory, connect);
        assertThat(refused.exit()).isEqualTo(1);
        assertThat(refused.err())
            .contains(
                "/fairlead in ZooKeeper is in use, and open to each of its clients; allowed:"
                    + " --zookeeper-auth with logins that all muxes and probes have, to protect it,"
                    + " or --open to leave it so");
      }
      try (ControllerProcess open = ControllerProcess.join(directory, connect, "--open")) {
        await().until(() -> new ApiClient(open.api()).get(SERVICES).status() == 200);
      }
    }
  }

  /** One whose former self was killed follows that until its session has ended. */
  private static void awaitLeader(ControllerProcess controller) {
    ApiClient client = new ApiClient(controller.api());
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> client.get("/healthz").json().getBoolean("leader"));
  }

  /** As docs/control-plane.md says: by a ZooKeeper that checks no permissions for a while. */
  @Test
  void lostLoginsAreReplaced() throws Exception {
    String listen = "127.0.0.1:" + FreePorts.next();
    String embedded = "embedded:" + directory.resolve("data");
    String[] flags = {"--zookeeper-listen=" + listen};
    Path login = directory.resolve("login");
    try (ControllerProcess first = ControllerProcess.join(directory, embedded, flags)) {
      assertThat(first.epoch()).isPositive();
      Files.move(ControllerProcess.secrets(directory).logins().path(), login);
    }
    assertThat(ControllerProcess.fail(directory, embedded, flags).err())
        .contains("protected by other logins");
    Files.writeString(login, "controllers:another-password\nmuxes:another-password");
    String[] given = {flags[0], "--zookeeper-auth=" + login};
    assertThat(ControllerProcess.fail(directory, embedded, given).exit()).isEqualTo(1);
    Map<String, String> skips = Map.of("JAVA_TOOL_OPTIONS", "-Dzookeeper.skipACL=yes");
    try (ControllerProcess open = ControllerProcess.join(directory, skips, embedded, given)) {
      awaitLeader(open);
    }
    try (ControllerProcess again = ControllerProcess.join(directory, embedded, given)) {
      awaitLeader(again);
      nobodyHasAnythingIn(listen);
    }
  }

  @Test
  void givenFilesTakeThePlaceOfDrawnOnes() throws Exception {
    Path tokens =
        Files.writeString(directory.resolve("given"), "ada admin plain:ada-0123456789abcdef");
    Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
    try (TestingServer zookeeper = TestZooKeeper.start();
        ControllerProcess controller =
            ControllerProcess.join(directory, zookeeper.getConnectString(), "--tokens=" + tokens)) {
      assertThat(controller.said()).endsWith(": zookeeper-auth\n");
      assertThat(names(ControllerProcess.secrets(directory).path()))
          .containsExactlyInAnyOrder("zookeeper-auth", "lock");
      assertThat(new ApiClient(controller.api(), "ada-0123456789abcdef").get(SERVICES).status())
          .isEqualTo(200);
      Done none = ctl("--api", "http://" + controller.api(), "service", "list");
      assertThat(none.exit()).isEqualTo(1);
      assertThat(none.err())
          .contains("Authorization is missing", "it needs --token-file, or to be run as the user");
    }
  }
}
