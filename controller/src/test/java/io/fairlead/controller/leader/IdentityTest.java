// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.store.repository.Backup;
import io.fairlead.controller.store.zookeeper.ZooKeeperAccess;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.curator.framework.AuthInfo;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.ThrowingConsumer;
import org.junit.jupiter.api.io.TempDir;

/**
 * Who counts as a mux or a probe, in a protected ZooKeeper and by the logins that the API gives: a
 * mux that is taken over can write its own node, and nothing else.
 */
class IdentityTest extends ServedController {
  private static final String CONTROLLERS = "controllers:the-controllers-password";
  private static final String READERS = "readers:the-readers-password";
  private static final String WEB =
      "{\"vips\":[\"10.99.0.1\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],\"buckets\":256}";

  /** A mux that would veto the VIP 10.99.0.7, and has not applied what web has by now. */
  private static final String EVIL =
      """
      {"format":1,"id":"evil","version":"1","address":"10.1.0.66","ports":[],"needs":{"10.99.0.7":"bgp"},
       "services":{"web":{"generation":1,"state":"serving"}}}\
      """;

  @TempDir private Path directory;
  private final List<CuratorFramework> sessions = new ArrayList<>();

  @Override
  protected ControllerOptions options(ControllerOptions usual) throws IOException {
    Path file = Files.writeString(directory.resolve("login"), CONTROLLERS + "\n" + READERS + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    return usual.with(Optional.of(ZooKeeperAccess.read(new SecretFile("--zookeeper-auth", file))));
  }

  @AfterEach
  void closeSessions() {
    sessions.forEach(CuratorFramework::close);
  }

  private CuratorFramework session(String connect, List<String> logins) {
    CuratorFramework session =
        CuratorFrameworkFactory.builder()
            .connectString(connect)
            .retryPolicy(new RetryOneTime(100))
            .authorization(
                logins.stream()
                    .map(login -> new AuthInfo("digest", login.getBytes(StandardCharsets.UTF_8)))
                    .toList())
            .build();
    sessions.add(session);
    session.start();
    return session;
  }

  private CuratorFramework session(List<String> logins) {
    return session(zookeeper.getConnectString(), logins);
  }

  private static List<String> login(Reply added, String field) {
    return added.json().getJsonArray(field).stream().map(String::valueOf).toList();
  }

  private Reply add(String id) {
    Reply added = api.send("PUT", "/v1/muxes/" + id, "{}");
    assertThat(added.status()).isEqualTo(201);
    return added;
  }

  private static void live(CuratorFramework session, String path, String node) throws Exception {
    session
        .create()
        .withMode(CreateMode.EPHEMERAL)
        .withACL(Ids.OPEN_ACL_UNSAFE)
        .forPath(path, node.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void aLoginWritesItsOwnNodeAndNothingElse() throws Exception {
    Reply mux1 = add("mux1");
    Reply mux2 = add("mux2");
    CuratorFramework other = session(login(mux2, "login"));
    live(other, "/fairlead/muxes/mux2/live", "{}");
    other
        .setACL()
        .withACL(
            List.of(
                new ACL(Perms.READ, new Id("digest", ZooKeeperAccess.digest(READERS))),
                new ACL(
                    Perms.ALL,
                    new Id("digest", ZooKeeperAccess.digest(login(mux2, "login").get(1))))))
        .forPath("/fairlead/muxes/mux2/live");
    CuratorFramework mux = session(login(mux1, "login"));
    CuratorFramework probe = session(login(mux1, "probeLogin"));
    CuratorFramework reader = session(List.of(READERS));
    Map<String, ThrowingConsumer<CuratorFramework>> attacks =
        Map.of(
            "invents a mux", by -> live(by, "/fairlead/muxes/evil", EVIL),
            "invents a probe", by -> live(by, "/fairlead/health/evil", "{}"),
            "adds a mux", by -> by.create().forPath("/fairlead/muxes/evil", "{}".getBytes()),
            "is another probe", by -> live(by, "/fairlead/health/mux2/live", "{}"),
            "writes another's node",
                by -> by.setData().forPath("/fairlead/muxes/mux2/live", EVIL.getBytes()),
            "deletes another's node", by -> by.delete().forPath("/fairlead/muxes/mux2/live"),
            "changes its entry",
                by -> by.setData().forPath("/fairlead/muxes/mux1", "{}".getBytes()),
            "deletes its entry", by -> by.delete().forPath("/fairlead/health/mux1"),
            "opens its entry",
                by -> by.setACL().withACL(Ids.OPEN_ACL_UNSAFE).forPath("/fairlead/muxes/mux1"),
            "reads the audit", by -> by.getChildren().forPath("/fairlead/audit"));
    for (CuratorFramework by : List.of(mux, probe, reader)) {
      attacks.forEach(
          (what, attack) ->
              assertThatThrownBy(() -> attack.accept(by))
                  .as(what)
                  .isInstanceOf(NoAuthException.class));
    }
    for (CuratorFramework by : List.of(probe, reader)) {
      assertThatThrownBy(() -> live(by, "/fairlead/muxes/mux1/live", "{}"))
          .isInstanceOf(NoAuthException.class);
    }
    for (CuratorFramework by : List.of(mux, reader)) {
      assertThatThrownBy(() -> live(by, "/fairlead/health/mux1/live", "{}"))
          .isInstanceOf(NoAuthException.class);
    }
    live(mux, "/fairlead/muxes/mux1/live", "{}");
    live(probe, "/fairlead/health/mux1/live", "{}");
  }

  /** What it makes besides its own node, and a node that outlives it, counts for nothing. */
  @Test
  void aMuxThatIsTakenOverBlocksVetoesAndVotesForItselfAlone() throws Exception {
    assertThat(api.send("PUT", "/v1/services/web", WEB).status()).isEqualTo(201);
    assertThat(
            api.send("PUT", "/v1/services/web/backends/1", "{\"address\":\"10.1.0.21\"}").status())
        .isEqualTo(201);
    Reply mux1 = add("mux1");
    CuratorFramework mux = session(login(mux1, "login"));
    CuratorFramework probe = session(login(mux1, "probeLogin"));
    for (String id : List.of("evil1", "evil2", "evil3")) {
      live(mux, "/fairlead/muxes/mux1/" + id, EVIL);
      live(probe, "/fairlead/health/mux1/" + id, "{\"format\":1,\"services\":{}}");
    }
    mux.create()
        .withACL(Ids.OPEN_ACL_UNSAFE)
        .forPath("/fairlead/muxes/mux1/live", EVIL.getBytes(StandardCharsets.UTF_8));
    live(mux, "/fairlead/muxes/mux1/live/live", EVIL);
    await().pollDelay(Duration.ofSeconds(1)).until(() -> controller.muxes().get().isEmpty());
    assertThat(
            controller
                .softState()
                .settled()
                .see(image())
                .waitsOfGeneration(image().ring().generation()))
        .extracting(SettledMoves.Wait::mux)
        .allMatch(Optional::isEmpty);
    assertThat(api.get("/metrics").body()).doesNotContain("evil");
    assertThat(api.send("PUT", "/v1/services/dns", WEB.replace("10.99.0.1", "10.99.0.7")).status())
        .isEqualTo(201);
  }

  private io.fairlead.controller.core.image.ServiceImage image() {
    return controller.plane().read("web", stored -> stored.image());
  }

  @Test
  void aMuxIsAddedOnceAndItsLoginIsReplacedByRequest() throws Exception {
    Reply added = add("mux1");
    assertThat(login(added, "login").get(0)).isEqualTo(READERS);
    assertThat(added.header("Cache-Control")).isEqualTo("no-store");
    Reply again = api.send("PUT", "/v1/muxes/mux1", "{}");
    assertThat(again.status()).isEqualTo(409);
    assertThat(again.json().getString("allowed")).contains("rotate");
    assertThat(api.send("PUT", "/v1/muxes/mux2", "{\"rotate\":true}").status()).isEqualTo(404);
    Reply plan = api.send("PUT", "/v1/muxes/mux2?dryRun=true", "{}");
    assertThat(plan.status()).isEqualTo(200);
    assertThat(plan.json().fieldNames()).containsExactlyInAnyOrder("id", "needsLogin");
    assertThat(api.get("/v1/muxes").array()).hasSize(1);
    for (String id : List.of("", "-mux", "a%2Fb", "m".repeat(64))) {
      assertThat(api.send("PUT", "/v1/muxes/" + id, "{}").status()).as(id).isIn(400, 404, 405);
    }

    CuratorFramework before = session(login(added, "login"));
    live(before, "/fairlead/muxes/mux1/live", EVIL);
    live(session(login(added, "probeLogin")), "/fairlead/health/mux1/live", "{}");
    Reply renewed = api.send("PUT", "/v1/muxes/mux1", "{\"rotate\":true}");
    assertThat(renewed.status()).isEqualTo(200);
    assertThatThrownBy(() -> live(before, "/fairlead/muxes/mux1/live", "{}"))
        .isInstanceOf(NoAuthException.class);
    live(session(login(renewed, "login")), "/fairlead/muxes/mux1/live", EVIL);
    live(session(login(renewed, "probeLogin")), "/fairlead/health/mux1/live", "{}");
    await().until(() -> api.get("/v1/muxes").array().getJsonObject(0).getBoolean("alive"));
  }

  @Test
  void oneThatIsRemovedCannotComeBack() throws Exception {
    List<String> logins = login(add("mux1"), "login");
    CuratorFramework mux = session(logins);
    live(mux, "/fairlead/muxes/mux1/live", EVIL);
    await().until(() -> controller.muxes().get().size() == 1);
    Reply alive = api.send("DELETE", "/v1/muxes/mux1", "");
    assertThat(alive.status()).isEqualTo(409);
    assertThat(alive.json().getString("allowed")).contains("stop it first");
    assertThat(api.send("DELETE", "/v1/muxes/mux1?force=true&dryRun=true", "").status())
        .isEqualTo(200);
    assertThat(controller.muxes().get()).hasSize(1);
    assertThat(api.send("DELETE", "/v1/muxes/mux1?force=true", "").status()).isEqualTo(200);
    assertThat(api.send("DELETE", "/v1/muxes/mux1", "").status()).isEqualTo(404);
    await().until(() -> api.get("/v1/muxes").array().isEmpty());
    assertThatThrownBy(() -> live(mux, "/fairlead/muxes/mux1/live", EVIL))
        .isInstanceOf(org.apache.zookeeper.KeeperException.NoNodeException.class);
    assertThatThrownBy(() -> mux.create().forPath("/fairlead/muxes/mux1"))
        .isInstanceOf(NoAuthException.class);
    add("mux1");
    assertThatThrownBy(() -> live(mux, "/fairlead/muxes/mux1/live", EVIL))
        .isInstanceOf(NoAuthException.class);
    assertThat(api.get("/v1/audit").array())
        .extracting(each -> ((JsonObject) each).getString("what"))
        .contains("DELETE /v1/muxes/mux1?force=true", "PUT /v1/muxes/mux1");
  }

  /** Whatever it has made below its entry, however much, and from whomever it hides that. */
  @Test
  void oneThatHidesWhatItHasMadeIsRemovedAllTheSame() throws Exception {
    Reply added = add("mux1");
    CuratorFramework mux = session(login(added, "login"));
    List<ACL> own =
        new ArrayList<>(
            List.of(
                new ACL(
                    Perms.ALL,
                    new Id("digest", ZooKeeperAccess.digest(login(added, "login").get(1))))));
    live(mux, "/fairlead/muxes/mux1/live", EVIL);
    await().until(() -> controller.muxes().get().size() == 1);
    mux.setACL().withACL(own).forPath("/fairlead/muxes/mux1/live");
    mux.create().withACL(own).forPath("/fairlead/muxes/mux1/other");
    mux.create().withACL(own).forPath("/fairlead/muxes/mux1/other/deep");
    Muxes.makeTooMany(mux, "/fairlead/muxes/mux1");
    assertThat(api.send("DELETE", "/v1/muxes/mux1?force=true", "").status()).isEqualTo(200);
    assertThat(api.send("DELETE", "/v1/muxes/mux1", "").status()).isEqualTo(404);
    await().until(() -> controller.muxes().get().isEmpty());
    await().until(() -> api.get("/v1/muxes").array().isEmpty());
    assertThatThrownBy(() -> live(mux, "/fairlead/muxes/mux1/live", EVIL))
        .isInstanceOf(NoAuthException.class);
    assertThat(api.get("/v1/backup").json().getJsonArray("muxes")).isEmpty();
    live(session(login(add("mux1"), "login")), "/fairlead/muxes/mux1/live", EVIL);
    await().until(() -> controller.muxes().get().size() == 1);
    assertThat(api.get("/v1/backup").json().getJsonArray("muxes")).hasSize(1);
  }

  /**
   * It made its node persistent and hides nodes below it, so that only ZooKeeper's superuser can
   * delete it: nothing takes the id's new login for one that could be used.
   */
  @Test
  void aNodeThatCannotBeDeletedIsNamedByWhatNeedsItsPlace() throws Exception {
    for (String folder : List.of("muxes", "health")) {
      String id = "of-" + folder;
      String node = "/fairlead/%s/%s/live".formatted(folder, id);
      List<String> logins = login(add(id), folder.equals("muxes") ? "login" : "probeLogin");
      CuratorFramework owner = session(logins);
      owner.create().forPath(node);
      Reply renewed = api.send("PUT", "/v1/muxes/" + id, "{\"rotate\":true}");
      assertThat(renewed.status()).as("an empty one is deleted").isEqualTo(200);
      logins = login(renewed, folder.equals("muxes") ? "login" : "probeLogin");
      owner = session(logins);
      List<ACL> own =
          new ArrayList<>(
              List.of(new ACL(Perms.ALL, new Id("digest", ZooKeeperAccess.digest(logins.get(1))))));
      owner.create().withACL(own).forPath(node);
      owner.create().withACL(own).forPath(node + "/below");

      Reply rotated = api.send("PUT", "/v1/muxes/" + id, "{\"rotate\":true}");
      assertThat(rotated.status()).isEqualTo(409);
      assertThat(rotated.json().getString("allowed"))
          .contains(node, "superuser", "fairleadctl mux remove %s --force".formatted(id));
      live(owner, "/fairlead/%s/%s/still".formatted(folder, id), "{}");
      assertThat(api.send("DELETE", "/v1/muxes/" + id + "?force=true", "").status()).isEqualTo(200);
      assertThat(api.send("DELETE", "/v1/muxes/" + id + "?force=true", "").status()).isEqualTo(404);
      Reply added = api.send("PUT", "/v1/muxes/" + id, "{}");
      assertThat(added.status()).isEqualTo(409);
      assertThat(added.json().getString("allowed")).contains(node, "superuser", "another id");

      owner.delete().forPath(node + "/below");
      Reply again = add(id);
      live(session(login(again, "login")), "/fairlead/muxes/%s/live".formatted(id), EVIL);
      live(session(login(again, "probeLogin")), "/fairlead/health/%s/live".formatted(id), "{}");
    }
    await().until(() -> controller.muxes().get().size() == 2);
  }

  /** Not even by a request that is sent again, whose answer is kept in ZooKeeper. */
  @Test
  void aPasswordIsShownOnceAndKeptNowhere() throws Exception {
    String[] key = {"Idempotency-Key", "0123456789abcdef"};
    Reply added = api.send("PUT", "/v1/muxes/mux1", "application/json", "{}", key);
    assertThat(added.status()).isEqualTo(201);
    Reply again = api.send("PUT", "/v1/muxes/mux1", "application/json", "{}", key);
    assertThat(again.status()).isEqualTo(201);
    assertThat(again.header("Idempotency-Replayed")).isEqualTo("true");
    assertThat(again.json().fieldNames()).containsExactlyInAnyOrder("id", "needsLogin");
    assertThat(again.json().getBoolean("needsLogin")).isTrue();
    CuratorFramework all = session(List.of(CONTROLLERS));
    for (String field : List.of("login", "probeLogin")) {
      String password = login(added, field).get(1).split(":")[1];
      assertThat(password).matches("[0-9a-f]{64}");
      assertThat(nodes(all, "/fairlead")).noneMatch(text -> text.contains(password));
      assertThat(api.get("/v1/audit").body()).doesNotContain(password);
      assertThat(api.get("/v1/backup").body()).doesNotContain(password);
    }
  }

  private static List<String> nodes(CuratorFramework client, String path) throws Exception {
    List<String> texts = new ArrayList<>();
    texts.add(new String(client.getData().forPath(path), StandardCharsets.ISO_8859_1));
    for (String child : client.getChildren().forPath(path)) {
      texts.addAll(nodes(client, path + "/" + child));
    }
    return texts;
  }

  /** The mux keeps its login, as muxes keep what they serve. */
  @Test
  void aRestoredClusterKnowsItsMuxesByTheSameLogins() throws Exception {
    Reply mux1 = add("mux1");
    byte[] backup = controller.backup().apply(Origin.ANONYMOUS);
    Path file = Files.write(directory.resolve("backup.json"), backup);
    try (TestingServer empty = TestZooKeeper.start()) {
      String connect = empty.getConnectString();
      try (FairleadController restoring =
          Controllers.prepare(
              options(
                  ControllerOptions.of(
                          connect, FreePorts.nextAddress(), "/fairlead", "other", clock)
                      .with(Duration.ZERO)))) {
        restoring.restore(Backup.read(file));
      }
      CuratorFramework mux = session(connect, login(mux1, "login"));
      assertThatThrownBy(() -> live(mux, "/fairlead/muxes/evil", EVIL))
          .isInstanceOf(NoAuthException.class);
      assertThatThrownBy(() -> live(mux, "/fairlead/health/mux1/live", "{}"))
          .isInstanceOf(NoAuthException.class);
      live(mux, "/fairlead/muxes/mux1/live", EVIL);
      live(session(connect, login(mux1, "probeLogin")), "/fairlead/health/mux1/live", "{}");
    }
  }

  /** Only nodes below entries are muxes'; one in place of an entry gives way to it. */
  @Test
  void anEphemeralNodeInPlaceOfAnEntryIsNoMux() throws Exception {
    CuratorFramework all = session(List.of(CONTROLLERS));
    live(all, "/fairlead/muxes/former", EVIL);
    live(all, "/fairlead/health/former", "{}");
    assertThat(api.send("DELETE", "/v1/muxes/former?force=true", "").status()).isEqualTo(404);
    live(session(login(add("former"), "login")), "/fairlead/muxes/former/live", EVIL);
    await().until(() -> controller.muxes().get().size() == 1);
    assertThat(api.get("/v1/muxes").array().size()).isEqualTo(1);
  }

  /** While it was open; candidates go with their sessions, and these keep all others waiting. */
  @Test
  void nodesThatWerePlantedInTheElectionDoNotKeepControllersFromLeading() throws Exception {
    try (TestingServer server = TestZooKeeper.start()) {
      String connect = server.getConnectString();
      CuratorFramework anyone = session(connect, List.of());
      for (String path : List.of("!first", "latch-0000000000", "latch-0000000000/below")) {
        anyone
            .create()
            .creatingParentsIfNeeded()
            .forPath("/fairlead/election/" + path, new byte[0]);
      }
      try (FairleadController protecting =
          Controllers.open(
              options(
                  ControllerOptions.of(
                          connect, FreePorts.nextAddress(), "/fairlead", "protecting", clock)
                      .withProtectsOpen(true)
                      .withClockCheck(false)))) {
        assertThat(protecting.awaitLeader(Duration.ofSeconds(30))).isTrue();
      }
    }
  }

  /** By hand, or by a version to come: it counts for nothing, and keeps no controller from work. */
  @Test
  void aMalformedEntryDoesNotCountAndIsNamed() throws Exception {
    CuratorFramework all = session(List.of(CONTROLLERS));
    all.create().forPath("/fairlead/muxes/odd", "{\"format\":2}".getBytes());
    add("mux1");
    await().until(() -> api.get("/v1/muxes").array().size() == 1);
    assertThat(api.get("/v1/backup").json().getJsonArray("muxes")).hasSize(1);
    try (FairleadController other =
        Controllers.open(
            options(
                ControllerOptions.of(
                        zookeeper.getConnectString(),
                        FreePorts.nextAddress(),
                        "/fairlead",
                        "other",
                        clock)
                    .withClockCheck(false)))) {
      assertThat(add("odd").json().getJsonArray("login")).hasSize(2);
      await().until(() -> api.get("/v1/muxes").array().size() == 2);
      assertThat(other.muxes().get()).isEmpty();
    }
  }

  @Test
  void oneThatIsNotAliveIsListedByItsNameAlone() {
    add("mux1");
    await().until(() -> api.get("/v1/muxes").array().size() == 1);
    JsonArray listed = api.get("/v1/muxes").array();
    assertThat(listed.getJsonObject(0).getBoolean("alive")).isFalse();
    assertThat(listed.getJsonObject(0).getString("id")).isEqualTo("mux1");
    assertThat(listed.getJsonObject(0).fieldNames()).doesNotContain("kind", "version", "address");
  }
}
