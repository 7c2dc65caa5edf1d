// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.service.OthelloService.Agent;
import io.fairlead.controller.service.OthelloService.View;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Hours of a service whose pool changes all the time, with connections that outlive many windows:
 * at every moment a packet of each reaches the backend that has it, by its first or second bucket
 * and the owners that an open window names. Agents report, answers get lost, leaders change, and a
 * mux loses its session with ZooKeeper now and then: it goes on by what it has until it withdraws.
 * Servers are removed and added again; those that are removed live, and have the window.
 */
class OthelloPropertyTest {
  private static final int BACKENDS = 6;
  private static final int STEP_SECONDS = 5;

  /** Seconds for which the mux without a session opens connections by what it has. */
  private static final int BEHIND = OthelloService.BEHIND;

  private static final int WINDOW = OthelloService.WINDOW;
  private static final int STEPS = 240;

  /** The backend whose agent may lie; it stays. */
  private static final int LIAR = 2;

  /** A backend that was removed, and when; its connections end a window later. */
  private record Removed(int id, long at) {}

  @Property(tries = 2)
  void everyConnectionIsReachedAtEveryMoment(@ForAll long seed) throws Exception {
    run(seed, false);
  }

  /**
   * A backend leaves a bucket and is removed, or is removed and comes back, and the bucket moves
   * on: its connections were lost when the earliest move ended before the last one.
   */
  @ParameterizedTest
  @ValueSource(longs = {83, -8859})
  void laterMovesEndNoEarlierOne(long seed) throws Exception {
    run(seed, false);
  }

  /** Its own connections may break, if it is silent about them. */
  @Property(tries = 2)
  void aLyingAgentHurtsNoOtherBackend(@ForAll long seed) throws Exception {
    run(seed, true);
  }

  private static void run(long seed, boolean lies) throws Exception {
    try (OthelloService service = new OthelloService(seed)) {
      Random random = service.random;
      List<Change> all = new ArrayList<>();
      for (int id = 1; id <= BACKENDS; id++) {
        all.add(Requests.add(id));
        service.agent(id);
      }
      Requests.done(service.writer.change(all, WriteOptions.COMMIT));
      View late = service.view();
      boolean isAbsent = false;
      boolean isQuiet = false;
      long lost = 0;
      long lacksSince = Long.MAX_VALUE;
      int pause = 0;
      int turns = 0;
      int changed = 0;
      int silence = 0;
      int silent = 0;
      int lie = 0;
      Optional<Removed> removed = Optional.empty();
      for (int step = 0; step < STEPS; step++) {
        service.pass(STEP_SECONDS);
        if (isAbsent ? random.nextInt(8) == 0 : random.nextInt(40) == 0) {
          isAbsent = !isAbsent;
          lost = service.seconds();
        }
        // one that has withdrawn announces again once it has caught up
        boolean stays = isAbsent || (!isQuiet && random.nextInt(3) == 0);
        late = stays ? late : service.view();
        service.muxes.put("mux1", service.ring().generation());
        service.back("mux2", late.ring().generation());
        if (isAbsent) {
          service.lose("mux2", lost);
        }
        boolean lacks = late.ring().generation() < service.ring().generation();
        lacksSince = !lacks ? Long.MAX_VALUE : Math.min(lacksSince, service.seconds());
        isQuiet = isAbsent && lacks && service.seconds() >= Math.max(lost, lacksSince) + BEHIND;
        open(service, isQuiet ? service.view() : late);
        // an agent that a leader has never heard is given up, and its connections have the window
        if (step > 0 && silence == 0 && random.nextInt(60) == 0) {
          silence = random.nextInt(100); // up to two windows
          silent = 1 + random.nextInt(BACKENDS);
        }
        if (removed.isPresent() && service.seconds() >= removed.get().at() + WINDOW) {
          service.agent(removed.get().id()).open.clear();
        }
        if (pause-- == 0) {
          pause = 4 + random.nextInt(20);
          List<Change> next = rolling(service, turns++, removed);
          if (change(service, next)) {
            changed++;
            removed = removed(service, next, removed);
          }
        }
        // without arrays a leader gives up an agent that it never heard
        if (random.nextInt(150) == 0 && (silence == 0 || service.committed().isPresent())) {
          service.failOver();
        }
        if (lies && lie == 0 && random.nextInt(20) == 0) {
          lie = 10 + random.nextInt(60);
        }
        if (lie > 0) {
          lie(service, --lie == 0);
        }
        for (Agent agent : service.agents.values()) {
          if (lie > 0 && agent.backend == LIAR) {
            continue;
          }
          if (silence == 0 || agent.backend != silent) {
            report(agent, random);
          }
        }
        silence = Math.max(0, silence - 1);
        service.step();
        String when = "seed %d, step %d".formatted(seed, step);
        checkAll(service, service.committed(), lies ? LIAR : 0, when);
      }
      assertThat(service.committed()).as("arrays after %d steps", STEPS).isPresent();
      assertThat(changed).as("changes that were not refused").isGreaterThan(5);
    }
  }

  /** Opens connections through a mux that has applied everything, and one that may be behind. */
  private static void open(OthelloService service, View late) throws Exception {
    for (int opened = service.random.nextInt(6); opened > 0; opened--) {
      long key = service.random.nextLong();
      View view = service.random.nextBoolean() ? late : service.view();
      service.agent(view.opensAt(key)).opens(key);
    }
  }

  private static void report(Agent agent, Random random) {
    agent.open.keySet().removeIf(key -> random.nextInt(200) == 0);
    if (random.nextInt(20) == 0) {
      agent.reportUnanswered();
    }
    agent.report();
  }

  /** Claims what others have, mostly before these do; at the end the true agent starts again. */
  private static void lie(OthelloService service, boolean ends) {
    Agent liar = service.agent(LIAR);
    if (ends) {
      liar.memory = "";
      return;
    }
    liar.report(
        own ->
            new Changes(
                own.memory(),
                own.mark(),
                own.whole(),
                own.first(),
                own.last(),
                service.agents.values().stream()
                    .flatMap(agent -> agent.open.keySet().stream())
                    .filter(key -> !liar.told.contains(key) && service.random.nextInt(3) > 0)
                    .mapToLong(key -> key)
                    .toArray(),
                new long[0]));
  }

  /**
   * Drains one after another, the next one when it has got the most: buckets move on and on. Some
   * are removed now and then, one at a time.
   */
  private static List<Change> rolling(OthelloService service, int turn, Optional<Removed> removed) {
    List<Change> changes = new ArrayList<>();
    int leaves =
        removed.isEmpty() && service.random.nextInt(4) == 0
            ? LIAR + 1 + service.random.nextInt(BACKENDS - LIAR)
            : 0;
    boolean returns = service.random.nextInt(3) == 0;
    for (int id = 1; id <= BACKENDS; id++) {
      if (removed.isPresent() && removed.get().id() == id) {
        if (returns) {
          changes.add(Requests.add(id));
        }
        continue;
      }
      if (id == leaves) {
        changes.add(Requests.remove(id));
        continue;
      }
      int place = Math.floorMod(id - turn, BACKENDS);
      int weight = place == 0 ? 0 : place == 1 ? 200 : 50 + service.random.nextInt(100);
      changes.add(Requests.weight(id, weight));
    }
    return changes;
  }

  private static Optional<Removed> removed(
      OthelloService service, List<Change> done, Optional<Removed> before) {
    Optional<Removed> removed = before;
    for (Change change : done) {
      if (change instanceof Change.Remove) {
        removed = Optional.of(new Removed(change.id(), service.seconds()));
      } else if (change instanceof Change.Add) {
        removed = Optional.empty();
      }
    }
    return removed;
  }

  /** Whether the pool was changed; not if that would break connections. */
  private static boolean change(OthelloService service, List<Change> changes) throws Exception {
    try {
      Requests.done(service.writer.change(changes, WriteOptions.COMMIT));
      return true;
    } catch (ExecutionException e) {
      assertThat(e.getCause()).isInstanceOf(Refusal.class).hasMessageContaining("force");
      return false;
    }
  }

  private static void checkAll(
      OthelloService service, Optional<CommittedArrays> arrays, int excused, String when) {
    for (Agent agent : service.agents.values()) {
      if (agent.backend == excused) {
        continue;
      }
      for (Map.Entry<Long, Long> each : agent.open.entrySet()) {
        assertThat(service.reaches(each.getKey(), agent.backend, arrays))
            .as(
                "%s: connection %016x of backend %d, opened %d s ago; %s",
                when,
                each.getKey(),
                agent.backend,
                service.seconds() - each.getValue(),
                service.status())
            .isTrue();
      }
    }
  }
}
