// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.TestZooKeeper;
import io.fairlead.controller.core.image.Progress;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.words.Hash;
import io.fairlead.controller.store.Note.KeptAnswer;
import io.fairlead.controller.store.zookeeper.ZooKeeperClient;
import io.fairlead.controller.store.zookeeper.ZooKeeperStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Records and kept answers, with real writes to a real ZooKeeper. */
class JournalTest {
  private static final Tree TREE = new Tree("/fairlead");
  private static final Epoch EPOCH = new Epoch(0, Version.after(0));

  private TestingServer server;
  private CuratorFramework client;
  private ServiceStore store;
  private Journal journal;

  @BeforeEach
  void open() throws Exception {
    server = TestZooKeeper.start();
    client = ZooKeeperClient.create(server.getConnectString());
    client.start();
    Roots.create(ZooKeeperStore.of(client, TREE), TREE);
    store = new ServiceStore(ZooKeeperStore.of(client, TREE), TREE, Duration.ofSeconds(1));
    journal = new Journal(ZooKeeperStore.of(client, TREE), TREE);
  }

  @AfterEach
  void close() throws Exception {
    client.close();
    server.close();
  }

  @Test
  void aNoteIsWrittenWithItsWriteOrNotAtAll() throws Exception {
    Note note = note(1, Optional.of(key(1)));
    ServiceState web = create(note, "web", 1);
    assertThat(journal.page(OptionalLong.empty(), 10).entries())
        .extracting(Journal.Numbered::entry)
        .containsExactly(note.entry());
    KeptAnswer kept = journal.answer(key(1)).orElseThrow();
    assertThat(kept.digest()).isEqualTo("digest 1");
    assertThat(kept.answer()).asString(StandardCharsets.UTF_8).isEqualTo("answer 1");
    assertThat(journal.answer(key(2))).isEmpty();

    assertThatThrownBy(
            () ->
                store
                    .with(note(2, Optional.of(key(2))))
                    .changeConfig(new Epoch(7, Version.after(7)), web, web.config()))
        .isInstanceOf(StoreException.Fenced.class);
    assertThat(journal.page(OptionalLong.empty(), 10).entries()).hasSize(1);
    assertThat(journal.answer(key(2))).isEmpty();
  }

  @Test
  void twoWritesUnderOneKeyCannotBothTakePlace() throws Exception {
    create(note(1, Optional.of(key(1))), "web", 1);
    assertThatThrownBy(() -> create(note(2, Optional.of(key(1))), "mail", 2))
        .isInstanceOf(StoreException.class);
    assertThat(store.names()).containsExactly("web");
  }

  @Test
  void pagesGoFromTheLatestToTheOldestWithoutGapOrRepetition() throws Exception {
    write(7);
    Journal.Page first = journal.page(OptionalLong.empty(), 3);
    Journal.Page second = journal.page(first.next(), 3);
    Journal.Page third = journal.page(second.next(), 3);
    assertThat(generations(first)).containsExactly(7L, 6L, 5L);
    assertThat(generations(second)).containsExactly(4L, 3L, 2L);
    assertThat(generations(third)).containsExactly(1L);
    assertThat(third.next()).isEmpty();
    assertThat(journal.page(OptionalLong.empty(), 7).next()).isEmpty();
    assertThat(journal.page(OptionalLong.of(0), 7).entries()).isEmpty();
  }

  @Test
  void theOldestGoWithTheirAnswersAndNumbersGoOn() throws Exception {
    write(5);
    journal.removeOld(EPOCH, 2);
    Journal.Page page = journal.page(OptionalLong.empty(), 10);
    assertThat(generations(page)).containsExactly(5L, 4L);
    assertThat(journal.answer(key(3))).isEmpty();
    assertThat(journal.answer(key(4))).isPresent();
    long last = page.entries().get(0).number();
    write(1);
    assertThat(journal.page(OptionalLong.empty(), 1).entries().get(0).number()).isEqualTo(last + 1);
    assertThatThrownBy(() -> journal.removeOld(new Epoch(7, Version.after(7)), 0))
        .isInstanceOf(StoreException.class);
  }

  /** Services that are created, notes of generations 1 to {@code count}. */
  private void write(int count) throws Exception {
    int before = store.serviceIds().last();
    for (long i = 1; i <= count; i++) {
      int id = (int) (before + i);
      create(note(i, Optional.of(key(id))), "s" + id, id);
    }
  }

  private static List<Long> generations(Journal.Page page) {
    return page.entries().stream().map(each -> each.entry().generation()).toList();
  }

  private static String key(long number) {
    return "%064x".formatted(number);
  }

  private static Note note(long generation, Optional<String> key) {
    AuditEntry entry =
        AuditEntry.committed("alice", "PUT /v1/services/web/backends/7", Optional.of("web"))
            .at(Instant.parse("2026-01-01T00:00:00Z"))
            .generation(generation)
            .buckets(3, generation % 2 == 0 ? 2 : 0)
            .by("test", 0)
            .key(key)
            .build();
    return new Note(
        entry,
        key.map(
            k ->
                new KeptAnswer(
                    k,
                    "digest " + generation,
                    ("answer " + generation).getBytes(StandardCharsets.UTF_8))));
  }

  private ServiceState create(Note note, String name, int id) throws StoreException {
    ServiceConfig config =
        ServiceConfig.builder(id, name)
            .vips(List.of("10.99.0.1"))
            .ports(List.of(new ServiceConfig.Port("tcp", 80)))
            .buckets(256)
            .hash(Hash.SIPHASH)
            .hashKey("000102030405060708090a0b0c0d0e0f")
            .windowSeconds(240)
            .build();
    Generation first = Generation.of(1, Generation.SNAPSHOT, new byte[] {1});
    return store.with(note).create(EPOCH, config, Progress.NONE, first);
  }
}
