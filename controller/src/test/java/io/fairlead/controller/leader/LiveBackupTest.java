// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.service.Notes;
import io.fairlead.controller.store.AuditEntry;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.MuxStore;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.repository.Backup;
import io.fairlead.controller.store.repository.StoredService;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;

/** A backup holds hash keys: who has read one stays on record. It can be restored. */
class LiveBackupTest extends EmbeddedController {
  private static final Origin ALICE =
      new Origin("alice", "GET /v1/backup", Optional.empty(), Optional.empty());

  @Test
  void everyReadLeavesARecord() {
    controller.backup().apply(ALICE);
    assertThat(controller.audit().page(OptionalLong.empty(), 10).entries())
        .extracting(each -> each.entry())
        .containsExactly(
            new AuditEntry(
                AuditEntry.FORMAT,
                "2023-11-14T22:13:20Z",
                "alice",
                "GET /v1/backup",
                Optional.empty(),
                Optional.empty(),
                AuditEntry.READ,
                0,
                0,
                Optional.empty(),
                controller.plane().health().epoch(),
                "test",
                Optional.empty()));
  }

  @Test
  void withoutARecordThereIsNoBackup() throws Exception {
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      client.delete().forPath("/fairlead/audit");
      assertThatThrownBy(() -> controller.backup().apply(ALICE))
          .isInstanceOf(Refusal.class)
          .hasMessageContaining("was not recorded");
    }
  }

  /**
   * What changes between the moment when services are read and the end of the backup; then what it
   * has.
   */
  @Test
  void whatChangesMeanwhileIsInItWholeOrNotAtAll() throws Exception {
    done(controller.services().createService(spec("one", "10.99.0.1"), WriteOptions.COMMIT));
    done(controller.services().createService(spec("two", "10.99.0.2"), WriteOptions.COMMIT));
    StoredService hadTheVip = stored("one");
    done(controller.services().changeService("one", vips("10.99.0.3"), WriteOptions.COMMIT));
    done(controller.services().changeService("two", vips("10.99.0.1"), WriteOptions.COMMIT));
    AtomicInteger reads = new AtomicInteger();
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      Supplier<Collection<StoredService>> services =
          () -> {
            if (reads.incrementAndGet() == 1) { // "one" before the VIP moved on, "two" after
              return List.of(hadTheVip, stored("two"));
            }
            create("s" + reads.get());
            List<StoredService> all = List.copyOf(controller.plane().services());
            create("t" + reads.get()); // has the last id, and is not among them
            return all;
          };
      Tree tree = new Tree("/fairlead");
      LiveBackup backup =
          new LiveBackup(
              services,
              new ServiceStore(ZooKeeperStore.of(client, tree), tree, Duration.ofSeconds(30)),
              new MuxStore(ZooKeeperStore.of(client, tree), tree, Duration.ofSeconds(30)),
              new Journal(ZooKeeperStore.of(client, tree), tree),
              new Notes("test", clock));
      Path file = Files.write(directory.resolve("backup.json"), backup.apply(ALICE));
      Backup read = Backup.read(file);
      assertThat(reads).hasValue(2);
      assertThat(read.serviceIds().last()).isEqualTo(4);
      assertThat(read.restored(clock.instant(), Map.of()).services())
          .extracting(image -> image.config().name() + " " + image.config().vips())
          .containsExactly("one [10.99.0.3]", "two [10.99.0.1]", "s2 [10.99.1.2]");
    }
  }

  /** Services whose VIPs never stand still: an error, and nothing that can't be restored. */
  @Test
  void givesUpOnServicesThatShareAVip() throws Exception {
    done(controller.services().createService(spec("one", "10.99.0.1"), WriteOptions.COMMIT));
    StoredService before = stored("one");
    done(controller.services().deleteService("one", WriteOptions.COMMIT));
    done(controller.services().createService(spec("two", "10.99.0.1"), WriteOptions.COMMIT));
    List<StoredService> shared = List.of(before, stored("two"));
    try (CuratorFramework client = ZooKeeperClient.create(controller.zookeeper())) {
      client.start();
      Tree tree = new Tree("/fairlead");
      LiveBackup backup =
          new LiveBackup(
              () -> shared,
              new ServiceStore(ZooKeeperStore.of(client, tree), tree, Duration.ofSeconds(30)),
              new MuxStore(ZooKeeperStore.of(client, tree), tree, Duration.ofSeconds(30)),
              new Journal(ZooKeeperStore.of(client, tree), tree),
              new Notes("test", clock));
      assertThatThrownBy(() -> backup.apply(ALICE))
          .isInstanceOf(Refusal.class)
          .hasMessageContaining("services changed VIPs each of the 10 times");
    }
  }

  private void create(String name) {
    String vip = "10.99.1." + (name.charAt(1) - '0') + (name.charAt(0) == 't' ? "0" : "");
    try {
      done(controller.services().createService(spec(name, vip), WriteOptions.COMMIT));
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private StoredService stored(String name) {
    return controller.plane().read(name, stored -> stored);
  }

  private static ServiceSpec vips(String vip) {
    return ServiceSpec.builder().vips(List.of(vip)).build();
  }
}
