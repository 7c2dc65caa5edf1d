// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Requests;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.resources.agents.Report;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.store.zookeeper.ZooKeeperAccess;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.KeeperException.NoAuthException;
import org.apache.zookeeper.KeeperException.NoNodeException;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What muxes find in a protected ZooKeeper of how busy servers are. */
class LoadsTest {
  private static final WriteOptions COMMIT = WriteOptions.COMMIT;
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final String LOADS = "/fairlead/services/web/loads";
  private static final String MUXES = "muxes:the-muxes-password";

  @TempDir private Path directory;
  private final SettableClock clock = new SettableClock(1_700_000_000);
  private TestingServer server;
  private FairleadController controller;
  private CuratorFramework mux;
  private final Reports reports = new Reports();

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    controller = open("first");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    mux =
        CuratorFrameworkFactory.builder()
            .connectString(server.getConnectString())
            .retryPolicy(new RetryOneTime(100))
            .authorization("digest", MUXES.getBytes(StandardCharsets.UTF_8))
            .build();
    mux.start();
    create();
  }

  @AfterEach
  void close() throws Exception {
    mux.close();
    controller.close();
    server.close();
  }

  private FairleadController open(String id) throws Exception {
    Path logins =
        Files.write(directory.resolve(id), List.of("controllers:the-controllers-password", MUXES));
    Files.setPosixFilePermissions(logins, PosixFilePermissions.fromString("rw-------"));
    return Controllers.open(
        ControllerOptions.of(
                server.getConnectString(), FreePorts.nextAddress(), "/fairlead", id, clock)
            .with(Optional.of(ZooKeeperAccess.read(new SecretFile("--zookeeper-auth", logins))))
            .withClockCheck(false));
  }

  private void create() throws Exception {
    ServiceSpec web =
        spec("web", "10.99.0.1").toBuilder()
            .steering("maat")
            .maat(
                new ServiceSpec.Maat(
                    Optional.empty(),
                    Optional.of("agents"),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty()))
            .build();
    done(controller.services().createService(web, COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), COMMIT));
  }

  /** The agent of one backend reports. */
  private void report(int backend, long busy) {
    Report.Load load = new Report.Load(Optional.of(busy), 0, 0, 0);
    reports.from(controller, backend, Reports.web(0, Optional.empty(), Optional.of(load)));
  }

  private void awaitLoads(String loads) {
    await()
        .atMost(SOON)
        .ignoreException(NoNodeException.class)
        .untilAsserted(
            () ->
                assertThat(mux.getData().forPath(LOADS))
                    .asString()
                    .isEqualTo("{\"format\":1,\"loads\":" + loads + "}"));
  }

  @Test
  void muxesReadThemAndMayNotWrite() throws Exception {
    report(2, 7);
    awaitLoads("{\"2\":7}");
    report(1, 0);
    awaitLoads("{\"1\":0,\"2\":7}");
    assertThatThrownBy(() -> mux.setData().forPath(LOADS, new byte[0]))
        .isInstanceOf(NoAuthException.class);
  }

  /** Reports that change all the time are one write a second, and commits go on beside them. */
  @Test
  void writesAreASecondApart() throws Exception {
    report(1, 0);
    awaitLoads("{\"1\":0}");
    Stat first = mux.checkExists().forPath(LOADS);
    List<Long> times = new ArrayList<>(List.of(first.getMtime()));
    long generation = generation();
    for (int turn = 1; times.size() < 4; turn++) {
      int weight = 100 + turn % 2;
      done(controller.backends().change("web", List.of(weight(2, weight)), Requests.FORCE));
      report(1, turn);
      long time = mux.checkExists().forPath(LOADS).getMtime();
      if (time != times.get(times.size() - 1)) {
        times.add(time);
      }
    }
    assertThat(generation()).isGreaterThan(generation + 3);
    for (int i = 1; i < times.size(); i++) {
      assertThat(times.get(i) - times.get(i - 1)).isGreaterThanOrEqualTo(990);
    }
  }

  private long generation() {
    return controller.plane().read("web", service -> service.image().ring().generation());
  }

  @Test
  void aRemovedBackendHasNone() throws Exception {
    report(1, 1);
    report(2, 2);
    awaitLoads("{\"1\":1,\"2\":2}");
    done(controller.backends().change("web", List.of(Requests.remove(2)), COMMIT));
    awaitLoads("{\"1\":1}");
  }

  @Test
  void theyGoWithTheService() throws Exception {
    report(1, 1);
    awaitLoads("{\"1\":1}");
    done(controller.services().deleteService("web", COMMIT));
    create();
    assertThat(mux.checkExists().forPath(LOADS)).as("those of the deleted service").isNull();
    report(1, 9);
    awaitLoads("{\"1\":9}");
  }

  @Test
  void aNewLeaderKeepsWhatItFindsBesideWhatItHears() throws Exception {
    report(1, 1);
    report(2, 2);
    awaitLoads("{\"1\":1,\"2\":2}");
    controller.close();
    controller = open("second");
    assertThat(controller.awaitLeader(SOON)).isTrue();
    assertThat(mux.getData().forPath(LOADS)).asString().contains("{\"1\":1,\"2\":2}");
    report(2, 5);
    awaitLoads("{\"1\":1,\"2\":5}");
  }
}
