// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceView;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A tree written by a later version: unknown formats are rejected by name and left unchanged. */
class UpgradeTest {
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final Tree TREE = new Tree("/fairlead");

  private TestingServer server;
  private CuratorFramework client;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    client = ZooKeeperClient.create(server.getConnectString());
    client.start();
    try (FairleadController controller = controller()) {
      assertThat(controller.awaitLeader(SOON)).isTrue();
      done(controller.services().createService(spec("web", "10.99.0.1"), WriteOptions.COMMIT));
      done(controller.services().createService(spec("dns", "10.99.0.2"), WriteOptions.COMMIT));
      done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
    }
  }

  @AfterEach
  void close() throws Exception {
    client.close();
    server.close();
  }

  private FairleadController controller() throws Exception {
    return Controllers.open(
        ControllerOptions.of(
            server.getConnectString(),
            FreePorts.nextAddress(),
            "/fairlead",
            "test",
            InstantSource.system()));
  }

  private void edit(String path, String from, String to) throws Exception {
    String text = new String(client.getData().forPath(path), StandardCharsets.UTF_8);
    assertThat(text).contains(from);
    client.setData().forPath(path, text.replace(from, to).getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void aTreeOfAnotherFormatIsLeftAlone() throws Exception {
    edit(TREE.format(), Tree.FORMAT, "99");
    long before = client.checkExists().forPath("/fairlead").getPzxid();
    byte[] epoch = client.getData().forPath(TREE.epoch());
    try (FairleadController controller = controller()) {
      assertThat(controller.awaitLeader(Duration.ofSeconds(2))).isFalse();
      assertThat(
              refusal(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT))
                  .kind())
          .isEqualTo(Refusal.Kind.UNAVAILABLE);
      assertThat(client.getChildren().forPath(TREE.election())).isEmpty();
      assertThat(client.checkExists().forPath("/fairlead").getPzxid()).isEqualTo(before);
      assertThat(client.getData().forPath(TREE.epoch())).isEqualTo(epoch);
      edit(TREE.format(), "99", Tree.FORMAT);
      assertThat(controller.awaitLeader(SOON)).isTrue();
      assertThat(
              done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT))
                  .generation())
          .isEqualTo(3);
    }
  }

  /** Its keys may have other names by then; the format is what is named. */
  @Test
  void aServiceOfAnotherFormatKeepsItsNameAndTheOthersGoOn() throws Exception {
    edit(TREE.config("web"), "\"format\":1", "\"format\":2");
    edit(TREE.config("web"), "\"buckets\"", "\"rows\"");
    byte[] config = client.getData().forPath(TREE.config("web"));
    try (FairleadController controller = controller()) {
      assertThat(controller.awaitLeader(SOON)).isTrue();
      assertThat(Shown.services(controller))
          .extracting(view -> view.config().name())
          .containsExactly("dns");
      Refusal refused =
          refusal(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT));
      assertThat(refused.getMessage()).contains("web", "unknown format 2; allowed: 1");
      assertThat(
              refusal(
                      controller
                          .services()
                          .createService(spec("web", "10.99.0.3"), WriteOptions.COMMIT))
                  .field())
          .isEqualTo("name");
      done(controller.backends().change("dns", List.of(add(1)), WriteOptions.COMMIT));
    }
    assertThat(client.getData().forPath(TREE.config("web"))).isEqualTo(config);
  }

  @Test
  void aKeyThatIsNotKnownIsPassedOver() throws Exception {
    edit(TREE.config("web"), "\"format\":1", "\"format\":1,\"colour\":\"red\"");
    try (FairleadController controller = controller()) {
      assertThat(controller.awaitLeader(SOON)).isTrue();
      done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT));
      assertThat(Shown.service(controller, "web").map(ServiceView::backends))
          .isEqualTo(Optional.of(2));
    }
  }
}
