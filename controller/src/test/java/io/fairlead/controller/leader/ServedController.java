// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Ranges;
import io.fairlead.controller.Resources;
import io.fairlead.controller.SettableClock;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.http.ApiClient;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A test of a leading controller over HTTP, with a ZooKeeper of its own, in which it may write. */
public abstract class ServedController {
  protected static final long NOW = 1_700_000_000;

  protected final SettableClock clock = new SettableClock(NOW);
  protected TestingServer zookeeper;
  protected CuratorFramework client;
  protected FairleadController controller;
  protected ApiClient api;
  private ApiServer server;

  /** What the controller is opened with, if not as usual. */
  protected ControllerOptions options(ControllerOptions usual) throws Exception {
    return usual;
  }

  @BeforeEach
  final void serve() throws Exception {
    zookeeper = TestZooKeeper.start();
    client = ZooKeeperClient.create(zookeeper.getConnectString());
    client.start();
    controller =
        Controllers.open(
            options(
                ControllerOptions.of(
                        zookeeper.getConnectString(),
                        FreePorts.nextAddress(),
                        "/fairlead",
                        "test",
                        clock)
                    .withMonotonic(clock::seconds)
                    .withClockCheck(false)));
    assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
    Ranges.set(controller);
    server =
        ApiServer.open(
            new Endpoint("127.0.0.1", 0),
            controller.plane(),
            Resources.of(controller),
            controller.metrics());
    api = new ApiClient(server.listen());
  }

  @AfterEach
  final void end() throws Exception {
    server.close();
    controller.close();
    client.close();
    zookeeper.close();
  }
}
