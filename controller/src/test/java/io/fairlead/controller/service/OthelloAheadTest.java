// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.weight;
import static io.fairlead.controller.resources.plane.WriteOptions.COMMIT;
import static io.fairlead.controller.service.OthelloService.AGE;
import static io.fairlead.controller.service.OthelloService.KNOWN;
import static io.fairlead.controller.service.OthelloService.SPACING;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.service.OthelloService.Agent;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.LatestArrays.Source;
import io.fairlead.controller.store.Sizes;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Arrays that are too large for one request are named once muxes have read them. */
class OthelloAheadTest {
  /** So that arrays of a few hundred connections take many chunks. */
  private static final Sizes SMALL = new Sizes(400, 300);

  /** For so long muxes are waited for. */
  private static final int LONG = 60;

  private OthelloService service;

  /** Whether "mux1" reads at once what is announced. */
  private boolean reads = true;

  @BeforeEach
  void open() throws Exception {
    open(1);
  }

  private void open(long seed) throws Exception {
    service = new OthelloService(seed, SMALL);
    service.begin(3, 300);
    pass(AGE);
    change(3, 1);
  }

  /** All arrays so far are settled. */
  private void settle() throws Exception {
    pass(KNOWN);
    assertThat(latest().isSettled()).isTrue();
    reads = false;
  }

  @AfterEach
  void close() throws Exception {
    service.close();
  }

  private void change(int id, int weight) throws Exception {
    done(service.writer.change(List.of(weight(id, weight)), COMMIT));
  }

  private void pass(int seconds) throws Exception {
    for (int second = 0; second < seconds; second++) {
      service.pass(1);
      service.muxesCatchUp();
      service.report();
      service.step();
      if (reads) {
        service.reads("mux1");
      }
      checkReached();
    }
  }

  private Optional<LatestArrays> said() {
    return service.writer.stored().state().arrays();
  }

  private LatestArrays latest() {
    return said().orElseThrow();
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
    settle();
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
    List<Long> patches = latest().newest().patches();
    assertThat(patches.subList(0, patches.size() - 1)).isEqualTo(ahead.patches());
    assertThat(service.read().latest()).isEqualTo(latest());
  }

  private void checkAllCoded() throws Exception {
    pass(2);
    assertThat(service.status().miscoded()).isZero();
  }

  @Test
  void theFirstOnesAreAnnouncedToo() throws Exception {
    reads = false;
    pass(1);
    Source ahead = latest().ahead().orElseThrow();
    for (int i = 0; i < 5; i++) {
      change(1, 90 + i);
      pass(1);
      assertThat(latest()).isEqualTo(LatestArrays.coming(ahead));
      assertThat(service.status().arrays()).isEmpty();
      assertThat(service.status().waitingFor().orElseThrow().muxes()).containsExactly("mux1");
    }
    service.reads("mux1");
    pass(1);
    checkNamed(ahead);
    assertThat(latest().previous()).contains(LatestArrays.NONE);
    pass(2);
  }

  @Test
  void anotherLeaderWritesItsOwnFirstOnes() throws Exception {
    reads = false;
    pass(1);
    Source ahead = latest().ahead().orElseThrow();
    service.failOver();
    pass(1);
    assertThat(service.status().arrays()).isEmpty();
    reads = true;
    for (int second = 0; latest().generation() == LatestArrays.NONE; second++) {
      assertThat(second).isLessThan(2 * SPACING);
      pass(1);
    }
    assertThat(latest().whole()).isGreaterThan(ahead.generation());
    checkAllCoded();
  }

  @Test
  void arraysThatFollowDamagedOnesAreAnnounced() throws Exception {
    settle();
    service.client.delete().forPath(path(latest().whole()) + "/0000");
    service.failOver();
    LatestArrays damaged = latest();
    for (int second = 0; latest().ahead().isEmpty(); second++) {
      assertThat(second).isLessThan(2 * SPACING);
      passUnchecked();
    }
    assertThat(latest().committed()).contains(damaged);
    assertThat(service.status().damage()).isPresent();
    Source ahead = latest().ahead().orElseThrow();
    passUnchecked();
    assertThat(latest().ahead()).contains(ahead);
    service.reads("mux1");
    passUnchecked();
    assertThat(latest().previous()).contains(damaged.generation());
    checkNamed(ahead);
  }

  /** What such a mux does with packets is unknown. */
  private void passUnchecked() {
    service.pass(1);
    service.muxesCatchUp();
    service.report();
    service.step();
  }

  private static String path(long generation) {
    return "/fairlead/services/web/ring/gen/%010d/arrays".formatted(generation);
  }

  private boolean isLarge(String path) throws Exception {
    return service.client.checkExists().forPath(path) != null
        && service.client.getChildren().forPath(path).size() > 1;
  }

  /** Whether a mux has yet to read more than a request of these. */
  private boolean lacks(Source named) throws Exception {
    long has = service.arrays.getOrDefault("mux1", LatestArrays.NONE);
    boolean lacks = named.whole() > has && isLarge(path(named.whole()));
    for (long patch : named.patches()) {
      lacks |= patch > has && isLarge(path(patch) + "_patch");
    }
    return lacks;
  }

  /** Whatever changes, and however long a mux takes to read arrays, up to the bound. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void noChangeWaitsForLargeArrays(long seed) throws Exception {
    service.close();
    reads = false;
    open(seed);
    Random draw = service.random;
    Optional<Source> reading = Optional.empty();
    Set<Long> named = new TreeSet<>();
    int left = 0;
    int changes = 0;
    for (int second = 0; second < 600; second++) {
      if (draw.nextInt(10) == 0) {
        changes += isChanged(1 + draw.nextInt(3), 60 + draw.nextInt(80)) ? 1 : 0;
      }
      pass(1);
      if (said().isPresent()) {
        assertThat(lacks(latest().newest())).as("second %d, %s", second, latest()).isFalse();
        named.add(latest().whole());
      }
      Optional<Source> ahead = said().flatMap(LatestArrays::ahead);
      if (!ahead.equals(reading)) {
        reading = ahead;
        left = draw.nextInt(LONG - 1);
      } else if (left-- <= 0) {
        service.reads("mux1");
      }
      if (second % 100 == 50) {
        for (int i = 0; i < 200; i++) {
          long key = draw.nextLong();
          service.agent(service.opensAt(key)).opens(key);
        }
      }
    }
    assertThat(changes).isGreaterThan(5);
    assertThat(named.size()).as("sets of whole arrays").isGreaterThan(1);
  }

  /** A change that would break connections is refused. */
  private boolean isChanged(int id, int weight) throws Exception {
    try {
      change(id, weight);
      return true;
    } catch (ExecutionException e) {
      assertThat(e.getCause()).isInstanceOf(Refusal.class);
      return false;
    }
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
    pass(LONG - 1);
    assertThat(latest().ahead()).contains(ahead);
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
