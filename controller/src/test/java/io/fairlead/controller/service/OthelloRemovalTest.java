// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static io.fairlead.controller.service.OthelloService.AGE;
import static io.fairlead.controller.service.OthelloService.SPACING;
import static io.fairlead.controller.service.OthelloService.WINDOW;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.service.OthelloService.Agent;
import io.fairlead.controller.store.LatestArrays;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A server is removed that lives: its connections have the window, whatever arrays come. */
class OthelloRemovalTest {
  private static final int REMOVED = 3;

  private OthelloService service;

  @BeforeEach
  void open() throws Exception {
    service = new OthelloService(1);
    service.begin(4, 300);
    pass(AGE);
    openSome(100); // too young to be reported
  }

  @AfterEach
  void close() throws Exception {
    service.close();
  }

  private void openSome(int count) throws Exception {
    for (int i = 0; i < count; i++) {
      long key = service.random.nextLong();
      service.agent(service.opensAt(key)).opens(key);
    }
  }

  private void change(Change... changes) throws Exception {
    done(service.writer.change(List.of(changes), WriteOptions.COMMIT));
  }

  /** Another comes, which takes buckets of others as well: that brings arrays. */
  private void replace() throws Exception {
    change(remove(REMOVED), add(5), weight(1, 60));
    service.agent(5);
  }

  private Optional<LatestArrays> latest() {
    return service.writer.stored().state().arrays();
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

  /** The window is over, and with it the server. */
  private void ends() {
    service.agents.remove(REMOVED);
  }

  /** Arrays go on without it. */
  private void checkArraysGoOn() throws Exception {
    pass(WINDOW / 2);
    change(weight(1, 10));
    long before = latest().orElseThrow().generation();
    pass(AGE + SPACING + WINDOW);
    assertThat(latest().orElseThrow().generation()).isGreaterThan(before);
    assertThat(latest().orElseThrow().isSettled()).isTrue();
    assertThat(service.status().miscoded()).isEqualTo(service.status().homeless());
    pass(2 * WINDOW);
    assertThat(service.named()).isZero();
  }

  @Test
  void anAdditionElsewhereBringsArrays() throws Exception {
    replace();
    pass(WINDOW - 1);
    assertThat(latest()).isPresent();
    ends();
    checkArraysGoOn();
  }

  @Test
  void itWasDrainedBefore() throws Exception {
    change(weight(REMOVED, 0));
    pass(WINDOW + WINDOW / 4);
    assertThat(service.status().keptBuckets()).containsKey(REMOVED);
    replace();
    pass(WINDOW - 1);
    ends();
    checkArraysGoOn();
  }

  /** Its connections are in buckets that moved before, and wait for arrays. */
  @Test
  void itLostBucketsBeforeByAMoveThatIsOlder() throws Exception {
    change(weight(REMOVED, 40));
    pass(WINDOW / 4);
    Agent silent = service.agents.remove(2);
    pass(40);
    change(weight(REMOVED, 10));
    pass(WINDOW / 4);
    replace();
    pass(WINDOW - 1);
    ends();
    service.agents.put(2, silent);
    checkArraysGoOn();
  }

  /**
   * The bucket moves on with the removal. That it left the removed backend before must not end
   * sooner.
   */
  @Test
  void aBucketThatItLeftBeforeMovesOnWithTheRemoval() throws Exception {
    Agent removed = service.agents.get(REMOVED);
    service.agents.remove(2); // arrays wait
    change(weight(REMOVED, 40));
    pass(WINDOW / 4);
    change(remove(REMOVED), weight(1, 0), weight(4, 0));
    pass(WINDOW - 1);
    Ring ring = service.ring();
    assertThat(removed.open).isNotEmpty();
    for (long key : removed.open.keySet()) {
      List<Integer> former = new ArrayList<>();
      for (int bucket : service.view().codes(key)) {
        History owners = ring.history(bucket);
        IntStream.range(0, owners.size()).map(owners::owner).forEach(former::add);
      }
      assertThat(former).as("former owners for %016x", key).contains(REMOVED);
    }
  }

  /** Moves alone lead to what it has not reported, and arrays wait for the window. */
  @Test
  void itsAgentEndsWithIt() throws Exception {
    Agent removed = service.agents.get(REMOVED);
    replace();
    service.agents.remove(REMOVED);
    for (int second = 1; second < WINDOW; second++) {
      pass(1);
      for (long key : removed.open.keySet()) {
        assertThat(service.reaches(key, REMOVED, service.committed())).isTrue();
      }
    }
    checkArraysGoOn();
  }

  @Test
  void anotherControllerLeadsMeanwhile() throws Exception {
    replace();
    pass(WINDOW / 4);
    service.failOver();
    pass(WINDOW / 2);
    change(weight(1, 30));
    pass(WINDOW / 4 - 1);
    ends();
    pass(WINDOW);
    checkArraysGoOn();
  }
}
