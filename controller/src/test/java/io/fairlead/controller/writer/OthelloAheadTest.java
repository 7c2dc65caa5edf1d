// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import static io.fairlead.controller.plane.WriteOptions.COMMIT;
import static io.fairlead.controller.writer.OthelloService.AGE;
import static io.fairlead.controller.writer.OthelloService.SPACING;
import static io.fairlead.controller.writer.Requests.done;
import static io.fairlead.controller.writer.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.othello.CommittedArrays;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.LatestArrays.Source;
import io.fairlead.controller.store.Sizes;
import io.fairlead.controller.writer.OthelloService.Agent;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Arrays that are too large for one request are named once muxes have read them. */
class OthelloAheadTest {
  /** So that arrays of a few hundred connections take many chunks. */
  private static final Sizes SMALL = new Sizes(400, 300);

  /** Longer than muxes are waited for. */
  private static final int LONG = 15;

  private OthelloService service;

  @BeforeEach
  void open() throws Exception {
    service = new OthelloService(1, SMALL);
    service.begin(3, 300);
    pass(AGE);
    change(3, 0);
    pass(2);
    assertThat(latest().ahead()).as("there is nothing to announce the first ones in").isEmpty();
    pass(AGE + SPACING);
    service.arrays.put("mux1", latest().generation());
  }

  @AfterEach
  void close() throws Exception {
    service.close();
  }

  private void change(int id, int weight) throws Exception {
    done(service.writer.change(List.of(weight(id, weight)), COMMIT));
    service.serversLearn();
  }

  private void pass(int seconds) throws Exception {
    for (int second = 0; second < seconds; second++) {
      service.pass(1);
      service.muxesCatchUp();
      service.report();
      service.step();
      checkReached();
    }
  }

  private LatestArrays latest() {
    return service.writer.stored().state().arrays().orElseThrow();
  }

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

  /** New arrays are needed; what is written of them before they are named. */
  private Source ahead() throws Exception {
    change(3, 100);
    for (int second = 0; latest().ahead().isEmpty(); second++) {
      assertThat(second).isLessThan(SPACING + 5);
      pass(1);
    }
    return latest().ahead().orElseThrow();
  }

  private void checkNamed(Source ahead) throws Exception {
    assertThat(latest().ahead()).isEmpty();
    assertThat(latest().newest().whole()).isEqualTo(ahead.whole());
    assertThat(latest().newest().patches())
        .startsWith(ahead.patches().toArray(new Long[0]))
        .hasSize(ahead.patches().size() + 1);
    assertThat(service.read().latest()).isEqualTo(latest());
  }

  private void checkAllCoded() throws Exception {
    pass(2);
    assertThat(service.status().miscoded()).isZero();
  }

  @Test
  void changesGoOnWhileAMuxReadsThem() throws Exception {
    Source ahead = ahead();
    long before = latest().generation();
    for (int i = 0; i < 5; i++) {
      change(1, 90 + i);
      pass(1);
      assertThat(latest().generation()).isEqualTo(before);
      assertThat(latest().ahead()).contains(ahead);
      assertThat(service.status().waitingFor().orElseThrow().muxes()).containsExactly("mux1");
    }
    service.arrays.put("mux1", ahead.generation());
    pass(1);
    checkNamed(ahead);
  }

  @Test
  void aMuxThatDoesNotReadThemIsNotWaitedForLong() throws Exception {
    Source ahead = ahead();
    pass(LONG);
    checkNamed(ahead);
    checkAllCoded();
  }

  @Test
  void aMuxOfAnOlderVersionIsNotWaitedFor() throws Exception {
    service.arrays.clear();
    Source ahead = ahead();
    pass(1);
    checkNamed(ahead);
    checkAllCoded();
  }

  @Test
  void anotherLeaderWritesItsOwn() throws Exception {
    Source ahead = ahead();
    service.failOver();
    service.muxesCatchUp();
    service.arrays.put("mux1", ahead.generation());
    for (int second = 0; latest().ahead().equals(Optional.of(ahead)); second++) {
      assertThat(second).isLessThan(2 * SPACING);
      pass(1);
    }
    Source other = latest().ahead().orElseThrow();
    service.arrays.put("mux1", other.generation());
    pass(1);
    checkNamed(other);
  }
}
