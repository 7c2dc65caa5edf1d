// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.plane.Origin;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.service.Notes;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Journal;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.repository.ServiceRepository;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.RejectedExecutionException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;

/** The number of records that are kept, regardless of the writer. */
class RetentionTest {
  private static final Tree TREE = new Tree("/fairlead");
  private static final Epoch EPOCH = new Epoch(1, Version.after(0));
  private static final int EVERY = 5;
  private static final int KEPT = 3;

  private boolean isClosed;

  private void run(Runnable task) {
    if (isClosed) {
      throw new RejectedExecutionException();
    }
    task.run();
  }

  @Test
  void theOldestGoAfterEverySoMany() throws Exception {
    try (TestingServer server = TestZooKeeper.start();
        CuratorFramework client = ZooKeeperClient.create(server.getConnectString())) {
      client.start();
      Roots.create(ZooKeeperStore.of(client, TREE), TREE);
      Journal journal = new Journal(ZooKeeperStore.of(client, TREE), TREE);
      Retention retention = new Retention(journal, this::run, EPOCH, EVERY, KEPT);
      Notes notes = new Notes("test", InstantSource.system(), retention::noted);
      ServiceRepository repository =
          new ServiceRepository(
              new ServiceStore(ZooKeeperStore.of(client, TREE), TREE, Duration.ofSeconds(5)));
      // A record is counted before it is written, so that of the fifth only four are there to
      // count.
      int[] left = {1, 2, 3, 4, 4, 5, 6, 7, 8, 4, 5, 6, 7, 8, 4, 5};
      for (int id = 1; id <= left.length; id++) {
        ServiceImage image =
            ServiceImage.create(
                ServiceRules.created(Requests.spec("s" + id, "10.99.0." + id), id, new Random(1)),
                1000);
        Origin origin = Origin.controller("number " + id);
        repository.with(notes.of(EPOCH, origin, Result.unmoved(image, false))).create(EPOCH, image);
        List<Journal.Numbered> records = journal.page(OptionalLong.empty(), 100).entries();
        assertThat(records).as("after %d", id).hasSize(left[id - 1]);
        assertThat(records.get(0).entry().what()).isEqualTo("number " + id);
      }
      retention.tidy();
      assertThat(journal.page(OptionalLong.empty(), 100).entries()).hasSize(KEPT);
      isClosed = true;
      retention.tidy();
    }
  }
}
