// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.service.OthelloService.Agent;
import io.fairlead.controller.store.LatestArrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Another change of the pool comes between each look of the keeper and its commit. */
class OthelloOvertakenTest {
  private static final int BACKENDS = 8;
  private static final int CONNECTIONS = 400;

  private OthelloService service;
  private int changes;

  private Optional<LatestArrays> latest() {
    return service.writer.stored().state().arrays();
  }

  private void pass(int seconds) {
    for (int second = 0; second < seconds; second++) {
      service.pass(1);
      service.muxesCatchUp();
      service.report();
      service.step();
    }
  }

  /** All are reached, by the rings and arrays that ZooKeeper has. */
  private void checkReached() throws Exception {
    Optional<CommittedArrays> arrays = service.committed();
    for (Agent agent : service.agents.values()) {
      for (long key : agent.open.keySet()) {
        assertThat(service.reaches(key, agent.backend, arrays))
            .as("connection %016x of backend %d, %s", key, agent.backend, service.status())
            .isTrue();
      }
    }
  }

  private void change(Random random) throws Exception {
    int id = 2 + random.nextInt(BACKENDS - 1);
    done(service.writer.change(List.of(weight(id, 90 + random.nextInt(20))), WriteOptions.COMMIT));
    changes++;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void arraysAreCommittedEvenSo(long seed) throws Exception {
    Random random = new Random(seed);
    try (OthelloService opened = new OthelloService(seed)) {
      service = opened;
      service.begin(BACKENDS, CONNECTIONS);
      pass(OthelloService.AGE);
      done(service.writer.change(List.of(weight(1, 1)), WriteOptions.COMMIT));
      service.overtaking = () -> change(random);
      for (int round = 0; round < 4; round++) {
        long before = latest().map(LatestArrays::generation).orElse(0L);
        int seconds = 0;
        while (latest().map(LatestArrays::generation).orElse(0L) == before) {
          pass(1);
          checkReached();
          assertThat(++seconds).isLessThanOrEqualTo(OthelloService.KNOWN);
        }
        assertThat(service.committed().orElseThrow().newest().generation())
            .isEqualTo(latest().orElseThrow().generation());
        done(service.writer.change(List.of(weight(1, 1 + round % 2 * 99)), WriteOptions.COMMIT));
      }
      assertThat(changes).isGreaterThanOrEqualTo(4);
      assertThat(service.status().connections()).isEqualTo(CONNECTIONS);
    }
  }
}
