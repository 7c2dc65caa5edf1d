// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.weight;
import static io.fairlead.controller.resources.plane.WriteOptions.COMMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.steering.othello.OthelloArrays;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.service.OthelloService.Agent;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.Sizes;
import io.fairlead.controller.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongToIntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Arrays that ZooKeeper loses, and arrays that are too large for one request. */
class OthelloRepairTest {
  private static final int CONNECTIONS = 300;

  /** So that arrays of a few hundred connections take many chunks. */
  private static final Sizes SMALL = new Sizes(400, 300);

  private OthelloService service;

  private void open(Sizes sizes) throws Exception {
    service = new OthelloService(1, sizes);
    service.begin(3, CONNECTIONS);
    pass(OthelloService.AGE);
  }

  @AfterEach
  void close() throws Exception {
    service.close();
  }

  /** "mux1" has all arrays so far, and reads others from ZooKeeper. */
  private void pass(int seconds) {
    for (int second = 0; second < seconds; second++) {
      service.pass(1);
      service.muxes.put("mux1", service.ring().generation());
      service.report();
      service.step();
      service.reads("mux1");
    }
  }

  private LatestArrays latest() {
    return service.writer.stored().state().arrays().orElseThrow();
  }

  private double repairs() {
    return service.counted("fairlead.othello.commits", "kind", "repair");
  }

  private void checkReached(CommittedArrays arrays) {
    for (Agent agent : service.agents.values()) {
      for (long key : agent.open.keySet()) {
        assertThat(service.reaches(key, agent.backend, Optional.of(arrays)))
            .as("connection %016x of backend %d, %s", key, agent.backend, service.status())
            .isTrue();
      }
    }
  }

  private String path(long generation, String blob) throws Exception {
    String path = "/fairlead/services/web/ring/gen/%010d/%s".formatted(generation, blob);
    List<String> chunks = new ArrayList<>(service.client.getChildren().forPath(path));
    return path + "/" + chunks.get(chunks.size() / 2);
  }

  private enum Damage {
    LOST {
      @Override
      void to(OthelloService service, String chunk) throws Exception {
        service.client.delete().forPath(chunk);
      }
    },
    FLIPPED {
      @Override
      void to(OthelloService service, String chunk) throws Exception {
        byte[] bytes = service.client.getData().forPath(chunk);
        bytes[bytes.length - 1] ^= 1;
        service.client.setData().forPath(chunk, bytes);
      }
    },
    MAGIC {
      @Override
      void to(OthelloService service, String chunk) throws Exception {
        byte[] bytes = service.client.getData().forPath(chunk);
        bytes[0] ^= 1;
        service.client.setData().forPath(chunk, bytes);
      }
    };

    abstract void to(OthelloService service, String chunk) throws Exception;
  }

  /** Whatever the hash, both arrays give the same buckets. */
  private static void checkSame(CommittedArrays one, CommittedArrays other) {
    Optional<LongToIntFunction> before = one.codesBefore();
    Optional<LongToIntFunction> again = other.codesBefore();
    assertThat(again.isPresent()).isEqualTo(before.isPresent());
    for (long key = 1; key < 3000; key++) {
      long hash = key * 0x9e3779b97f4a7c15L;
      assertThat(other.newest().code(hash)).isEqualTo(one.newest().code(hash));
      if (before.isPresent()) {
        assertThat(again.get().applyAsInt(hash)).isEqualTo(before.get().applyAsInt(hash));
      }
    }
  }

  /**
   * Of arrays with both named; a mux that starts reads them. Under the same generations, so that
   * muxes that have them read nothing, and no change waits for that.
   */
  @ParameterizedTest
  @EnumSource(Damage.class)
  void theSameArraysAreWrittenAgain(Damage damage) throws Exception {
    open(Sizes.DEFAULT);
    done(service.writer.change(List.of(weight(3, 1)), COMMIT));
    pass(OthelloService.KNOWN);
    assertThat(latest().isSettled()).isTrue();
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    pass(1);
    assertThat(latest().isSettled()).isFalse();
    CommittedArrays had = service.read();
    assertThat(had.latest().patches()).isNotEmpty();
    damage.to(service, path(latest().whole(), "arrays"));
    assertThatThrownBy(() -> service.read()).isInstanceOf(StoreException.Damaged.class);
    service.muxes.put("mux2", 0L);
    pass(6);
    assertThat(repairs()).isEqualTo(1);
    CommittedArrays again = service.read();
    assertThat(again.latest()).isEqualTo(latest());
    assertThat(again.newest().generation()).isEqualTo(had.newest().generation());
    assertThat(again.before().map(OthelloArrays::generation))
        .isEqualTo(had.before().map(OthelloArrays::generation));
    assertThat(again.latest().patches()).isEmpty();
    checkSame(had, again);
    checkReached(again);
    service.muxes.remove("mux2");
    pass(OthelloService.KNOWN);
    assertThat(repairs()).isEqualTo(1);
    assertThat(service.status().damage()).isEmpty();
    assertThat(latest().isSettled()).isTrue();
    checkReached(service.read());
  }

  /** What is written is what {@code latest_arrays} says already: nothing of it changes. */
  @Test
  void eachDamageIsRepairedOnce() throws Exception {
    open(Sizes.DEFAULT);
    done(service.writer.change(List.of(weight(3, 1)), COMMIT));
    pass(OthelloService.KNOWN);
    for (int damages = 1; damages <= 3; damages++) {
      Damage.LOST.to(service, path(latest().whole(), "arrays"));
      service.muxes.put("mux2", 0L);
      pass(6);
      service.muxes.remove("mux2");
      pass(30);
      assertThat(repairs()).isEqualTo(damages);
      assertThat(service.status().damage()).isEmpty();
      assertThat(latest().patches()).isEmpty();
    }
    long before = latest().generation();
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    pass(2 * OthelloService.SPACING);
    assertThat(latest().generation()).isGreaterThan(before);
    checkReached(service.read());
  }

  @Test
  void settledArraysAreFoundDamagedWithoutAMuxThatReadsThem() throws Exception {
    open(SMALL);
    done(service.writer.change(List.of(weight(3, 1)), COMMIT));
    pass(OthelloService.KNOWN);
    CommittedArrays had = service.read();
    Damage.LOST.to(service, path(latest().whole(), "arrays"));
    pass(301);
    assertThat(repairs()).isEqualTo(1);
    assertThat(latest().isSettled()).isTrue();
    checkSame(had, service.read());
    checkReached(service.read());
    assertThat(service.read().latest()).isEqualTo(had.latest().rewritten(Optional.empty()));
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    pass(3);
    checkReached(service.read());
  }

  private static String gone(long generation) {
    return "/fairlead/services/web/ring/gen/%010d/arrays".formatted(generation);
  }

  /** The leader ends as well, so that only muxes have the arrays. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void othersFollowArraysThatNoControllerHas(boolean isSettled) throws Exception {
    open(Sizes.DEFAULT);
    done(service.writer.change(List.of(weight(3, 1)), COMMIT));
    pass(isSettled ? OthelloService.KNOWN : 1);
    CommittedArrays had = service.read();
    assertThat(had.latest().isSettled()).isEqualTo(isSettled);
    Damage.FLIPPED.to(service, path(latest().whole(), "arrays"));
    service.failOver();
    service.step();
    assertThat(service.status().damage()).isPresent();
    long young = service.random.nextLong();
    service.agent(service.ring().current(had.newest().code(young))).opens(young);
    for (int second = 0; latest().equals(had.latest()); second++) {
      assertThat(second).isLessThan(OthelloService.KNOWN + 5);
      checkReached(had);
      pass(1);
    }
    assertThat(latest().previous()).contains(had.newest().generation());
    CommittedArrays now = service.read();
    assertThat(now.isBeforeLost()).isTrue();
    CommittedArrays onMuxes =
        new CommittedArrays(
            now.service(), now.latest(), now.newest(), Optional.of(had.newest()), 0, 0);
    checkReached(onMuxes);
    service.muxes.put("mux2", 0L);
    for (int second = 0; !latest().isSettled(); second++) {
      assertThat(second).as("the young one took arrays, too").isLessThan(2 * OthelloService.KNOWN);
      pass(1);
    }
    pass(1);
    assertThat(service.status().damage()).isEmpty();
    assertThat(service.status().miscoded()).isZero();
    checkReached(service.read());
  }

  /** A leader was killed before it committed its first arrays. */
  @Test
  void whatWasWrittenAheadAndNeverCommittedIsRemoved() throws Exception {
    open(SMALL);
    String torn = gone(service.ring().generation());
    service
        .client
        .create()
        .creatingParentsIfNeeded()
        .forPath(torn + "/0000000000", new byte[] {1, 2, 3});
    done(service.writer.change(List.of(weight(3, 1)), COMMIT));
    pass(3);
    assertThat(latest().previous()).contains(0L);
    assertThat(service.client.checkExists().forPath(torn)).isNull();
    checkReached(service.read());
  }

  /** A change that is asked for while they are written is committed before them. */
  @Test
  void largeArraysAreWrittenAheadAndLetChangesPass() throws Exception {
    open(SMALL);
    List<Long> passed = new ArrayList<>();
    service.overtaking =
        () -> {
          service.writer.change(List.of(weight(2, 90 + passed.size())), COMMIT);
          passed.add(service.ring().generation());
        };
    done(service.writer.change(List.of(weight(3, 1)), COMMIT));
    pass(2);
    LatestArrays first = latest();
    assertThat(service.client.getChildren().forPath(gone(first.whole())).size()).isGreaterThan(3);
    assertThat(first.patches()).containsExactly(first.generation());
    assertThat(first.generation()).isGreaterThan(first.whole() + 1);
    assertThat(service.counted("fairlead.othello.commits", "kind", "whole")).isEqualTo(1);
    checkReached(service.read());
    service.overtaking = () -> {};
    pass(2 * OthelloService.KNOWN); // what changed meanwhile takes arrays, too
    for (int i = 0; i < 1000; i++) {
      long key = service.random.nextLong();
      service.agent(service.opensAt(key)).opens(key);
    }
    pass(OthelloService.AGE + 5);
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    pass(5);
    assertThat(service.counted("fairlead.othello.commits", "kind", "whole")).isEqualTo(2);
    assertThat(latest().previousWhole()).isPresent();
    assertThat(service.read().isBeforeLost()).isFalse();
    checkReached(service.read());
    pass(OthelloService.KNOWN);
    done(service.writer.change(List.of(weight(1, 40)), COMMIT));
    pass(3);
    assertThat(service.counted("fairlead.othello.commits", "kind", "patch")).isGreaterThan(0);
    checkReached(service.read());
  }
}
