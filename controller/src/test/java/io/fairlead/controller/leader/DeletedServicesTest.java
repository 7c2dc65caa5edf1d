// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.services.ServiceRules;
import io.fairlead.controller.store.ServiceStore.Deleted;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

/** Services move between those that exist and those that are kept while others ask for all. */
class DeletedServicesTest {
  private static final ServiceConfig WEB =
      ServiceRules.created(Requests.spec("web", "10.99.0.1"), 7, new Random(1));
  private static final Deleted DELETED = new Deleted(WEB, Instant.EPOCH);

  private final DeletedServices deleted = new DeletedServices();
  private final Map<String, Integer> existing = new ConcurrentHashMap<>();

  private void delete() {
    deleted.add(DELETED, Duration.ZERO, () -> existing.remove("web"));
  }

  private void bringBack() {
    deleted.remove("web", () -> existing.put("web", 7));
  }

  /** What settled generations are kept for: an id that is missed for a moment loses its own. */
  @Test
  void anIdIsNotMissedWhileItsServiceMoves() throws Exception {
    Map<String, Runnable> moves =
        Map.of(
            "deleted",
            this::delete,
            "brought back",
            this::bringBack,
            "brought back and deleted",
            () -> {
              bringBack();
              delete();
            },
            "deleted and brought back",
            () -> {
              delete();
              bringBack();
            });
    for (Map.Entry<String, Runnable> move : moves.entrySet()) {
      for (boolean isBefore : List.of(true, false)) {
        bringBack();
        if (move.getKey().startsWith("brought back")) {
          delete();
        }
        Thread other = new Thread(move.getValue());
        Set<Integer> ids =
            deleted.idsWith(
                () -> {
                  if (isBefore) {
                    goAsFarAsPossible(other);
                  }
                  List<Integer> now = List.copyOf(existing.values());
                  if (!isBefore) {
                    goAsFarAsPossible(other);
                  }
                  return now;
                });
        assertThat(ids).as("%s, before they are read: %b", move.getKey(), isBefore).containsOnly(7);
        other.join();
        assertThat(deleted.idsWith(() -> List.copyOf(existing.values()))).containsOnly(7);
      }
    }
  }

  private static void goAsFarAsPossible(Thread other) {
    other.start();
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> Set.of(Thread.State.BLOCKED, Thread.State.TERMINATED).contains(other.getState()));
  }
}
