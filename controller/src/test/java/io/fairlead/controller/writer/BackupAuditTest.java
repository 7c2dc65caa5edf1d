// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.plane.Origin;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.store.AuditEntry;
import io.fairlead.controller.store.ZooKeeperClient;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;

/** A backup holds hash keys: who has read one stays on record. */
class BackupAuditTest extends EmbeddedController {
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
}
