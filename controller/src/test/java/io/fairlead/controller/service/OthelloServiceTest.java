// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.explain.Explanation;
import io.fairlead.controller.resources.explain.Flow;
import io.fairlead.controller.resources.muxes.SettledMoves;
import io.fairlead.controller.resources.othello.CommittedArrays;
import io.fairlead.controller.resources.othello.OthelloStatus;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.service.OthelloService.Agent;
import io.fairlead.controller.service.OthelloService.View;
import io.fairlead.controller.store.LatestArrays;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When a leader commits arrays, and which. */
class OthelloServiceTest {
  private static final WriteOptions COMMIT = WriteOptions.COMMIT;
  private static final int CONNECTIONS = 200;

  private OthelloService service;

  @BeforeEach
  void open() throws Exception {
    service = new OthelloService(1);
    service.begin(3, CONNECTIONS);
    pass(OthelloService.AGE);
  }

  @AfterEach
  void close() throws Exception {
    service.close();
  }

  /** As many seconds, in each of which agents report, muxes catch up and the keeper looks. */
  private void pass(int seconds) {
    for (int second = 0; second < seconds; second++) {
      service.pass(1);
      service.muxesCatchUp();
      service.report();
      service.step();
    }
  }

  private void drain(int id) throws Exception {
    done(service.writer.change(List.of(weight(id, 0)), COMMIT));
  }

  /** Nearly all of its connections get another bucket. */
  private void shrink(int id) throws Exception {
    done(service.writer.change(List.of(weight(id, 1)), COMMIT));
  }

  private OthelloStatus.Waiting waiting() {
    return service.status().waitingFor().orElseThrow();
  }

  private Optional<LatestArrays> latest() {
    return service.writer.stored().state().arrays();
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

  @Test
  void noneAreCommittedWhileEveryConnectionIsWhereItsBucketIs() {
    assertThat(service.status().connections()).isEqualTo(CONNECTIONS);
    assertThat(service.status().miscoded()).isZero();
    assertThat(service.status().waitingFor()).isEmpty();
    assertThat(latest()).isEmpty();
  }

  /** Which moves are open, and which backends are gone, goes by the clock. */
  @Test
  void nothingIsDecidedWhileTheClockIsOff() throws Exception {
    shrink(3);
    service.isClockOff = true;
    pass(5);
    assertThat(latest()).isEmpty();
    assertThat(service.status().fallback())
        .contains("this controller's clock and ZooKeeper's differ, or are not compared yet");
    service.isClockOff = false;
    service.step();
    assertThat(latest()).isPresent();
    service.step();
    assertThat(service.status().fallback()).isEmpty();
  }

  @Test
  void theFirstFollowAChangeAndSettleOnceAllIsKnown() throws Exception {
    shrink(3);
    int moved = service.agent(3).open.size();
    service.step();
    assertThat(latest()).map(LatestArrays::previous).contains(Optional.of(0L));
    service.step();
    assertThat(service.status().miscoded()).as("of %d", moved).isZero();
    assertThat(waiting().muxes()).containsExactly("mux1");
    checkReached();
    service.muxesCatchUp();
    service.step();
    assertThat(waiting().muxes()).isEmpty();
    assertThat(waiting().agents()).isEmpty();
    for (int left = OthelloService.SETTLED + OthelloService.LAPSED; left > 0; left--) {
      assertThat(waiting().agents()).isEmpty();
      assertThat(waiting().spacingSeconds())
          .as("first a mux may be absent, then a SYN cookie may come back")
          .isEqualTo(left);
      pass(1);
    }
    assertThat(waiting().agents()).containsExactly(1, 2, 3);
    pass(OthelloService.OLD - 1);
    assertThat(latest().orElseThrow().isSettled()).isFalse();
    pass(3);
    assertThat(latest().orElseThrow().isSettled()).isTrue();
    assertThat(service.status().waitingFor()).isEmpty();
    checkReached();
  }

  /** It may open connections by the arrays before, so these are not dropped before it withdraws. */
  @Test
  void arraysBeforeWaitForAMuxWithoutASession() throws Exception {
    service.muxes.put("mux2", service.ring().generation());
    shrink(3);
    service.step();
    assertThat(latest().orElseThrow().isSettled()).isFalse();
    service.lose("mux2");
    pass(OthelloService.SETTLED - 1);
    assertThat(waiting().muxes()).containsExactly("mux2");
    pass(SettledMoves.MARGIN_SECONDS);
    assertThat(waiting().muxes()).as("it hears what is settled").containsExactly("mux2");
    pass(1);
    assertThat(waiting().muxes()).isEmpty();
    pass(OthelloService.LAPSED);
    assertThat(waiting().agents()).containsExactly(1, 2, 3);
    pass(OthelloService.OLD + 2);
    assertThat(latest().orElseThrow().isSettled()).isTrue();
    checkReached();
  }

  @Test
  void connectionsOfADrainingBackendOutliveManyWindows() throws Exception {
    drain(3);
    pass(5 * OthelloService.WINDOW);
    checkReached();
    assertThat(service.status().keptBuckets()).containsOnlyKeys(3);
    service.agent(3).open.clear();
    pass(2);
    assertThat(service.status().keptBuckets()).isEmpty();
    assertThat(service.status().connections())
        .isEqualTo(service.agent(1).open.size() + service.agent(2).open.size());
  }

  /** Its connections have codes of buckets that were its own until the next arrays. */
  @Test
  void aBackendThatIsBackIsNamedUntilArraysNoLongerNeedIt() throws Exception {
    drain(3);
    pass(2 * OthelloService.WINDOW);
    assertThat(service.status().keptBuckets().get(3)).isGreaterThan(1);
    Agent silent = service.agents.remove(2);
    pass(35);
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    pass(2 * OthelloService.WINDOW);
    assertThat(service.status().keptBuckets()).isEmpty();
    assertThat(service.status().miscoded()).isPositive();
    assertThat(service.named()).isPositive();
    checkReached();
    service.agents.put(2, silent);
    pass(OthelloService.AGE + 5);
    assertThat(service.status().miscoded()).isZero();
    pass(2 * OthelloService.WINDOW);
    assertThat(service.named()).isZero();
    checkReached();
  }

  /** An agent is silent, so there are no arrays; what is known outlives many windows even so. */
  @Test
  void nothingIsReleasedWhileArraysWait() throws Exception {
    Agent silent = service.agents.remove(2);
    pass(35);
    done(service.writer.change(List.of(weight(1, 30)), COMMIT));
    pass(5 * OthelloService.WINDOW);
    assertThat(service.status().miscoded()).isGreaterThan(0);
    assertThat(latest()).isEmpty();
    checkReached();
    service.agents.put(2, silent);
    pass(OthelloService.AGE + 5);
    assertThat(service.status().miscoded()).isZero();
    pass(2 * OthelloService.WINDOW);
    assertThat(service.named()).isZero();
    checkReached();
  }

  /** There are arrays, so the agent that it has never heard is only away. */
  @Test
  void aNewLeaderWaitsForAnAgentThatItHasNotHeard() throws Exception {
    shrink(3);
    pass(3 * OthelloService.WINDOW);
    for (int i = 0; i < 100; i++) {
      long key = service.random.nextLong();
      service.agent(service.opensAt(key)).opens(key);
    }
    Agent silent = service.agents.remove(2);
    done(service.writer.change(List.of(weight(2, 10)), COMMIT));
    service.failOver();
    pass(5 * OthelloService.WINDOW);
    service.agents.put(2, silent);
    checkReached();
    pass(OthelloService.WINDOW);
    checkReached();
  }

  /** One leader follows another, and none hears of connections that were young at the move. */
  @Test
  void nothingIsReleasedUntilItsConnectionsAreReported() throws Exception {
    for (int i = 0; i < 100; i++) {
      long key = service.random.nextLong();
      service.agent(service.opensAt(key)).opens(key);
    }
    Agent late = service.agents.remove(1);
    done(service.writer.change(List.of(weight(1, 30)), COMMIT));
    for (int passed = 0; passed < OthelloService.WINDOW + 60; passed += 20) {
      service.failOver();
      service.muxesCatchUp();
      pass(20);
    }
    service.agents.put(1, late);
    checkReached();
    pass(OthelloService.AGE + OthelloService.SPACING);
    assertThat(service.status().connections()).isEqualTo(CONNECTIONS + 100);
    assertThat(service.status().miscoded()).isZero();
    pass(2 * OthelloService.WINDOW);
    assertThat(service.named()).isZero();
  }

  /**
   * A client acknowledges a SYN cookie 100 s after the move, which its server's agent sees from
   * then on and reports once it is old enough. There are no arrays: all others are at home.
   */
  @Test
  void nothingIsReleasedUntilASynCookieCanComeBackNoMore() throws Exception {
    service.close();
    service = new OthelloService(2);
    service.begin(3, 0);
    pass(OthelloService.WINDOW);
    long key = service.random.nextLong();
    while (service.opensAt(key) != 3) {
      key = service.random.nextLong();
    }
    done(service.writer.change(List.of(weight(3, 0)), COMMIT));
    assertThat(service.opensAt(key)).isNotEqualTo(3);
    pass(100);
    service.agent(3).opens(key);
    for (int second = 0; second < 2 * OthelloService.WINDOW; second++) {
      pass(1);
      checkReached();
    }
    assertThat(service.status().connections()).isEqualTo(1);
  }

  /**
   * A late mux opens connections by arrays 0 until it has the first ones, and its clients
   * acknowledge SYN cookies long after that. Arrays 0 count until these are known.
   */
  @Test
  void arraysBeforeStayUntilASynCookieCanComeBackNoMore() throws Exception {
    View late = service.view();
    shrink(3);
    pass(OthelloService.SETTLED + OthelloService.LAPSED - 1);
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    for (int i = 0; i < 100; i++) {
      long key = service.random.nextLong();
      service.agent(late.opensAt(key)).opens(key);
    }
    for (int second = 0; second < 2 * OthelloService.KNOWN; second++) {
      pass(1);
      checkReached();
    }
    assertThat(service.status().connections()).isEqualTo(CONNECTIONS + 100);
    assertThat(latest().orElseThrow().patches()).as("new ones came").isNotEmpty();
    assertThat(latest().orElseThrow().isSettled()).isTrue();
  }

  /** It may have no agent at all: then its connections have the window. */
  @Test
  void nothingIsReleasedWithinTheWindowWithoutAnAgent() throws Exception {
    service.agents.keySet().forEach(id -> service.agent(id).open.clear());
    pass(2);
    Agent without = service.agents.remove(3);
    service.failOver(); // never heard of it
    for (int i = 0; i < 100; i++) {
      long key = service.random.nextLong();
      if (service.opensAt(key) == 3) {
        without.opens(key);
      }
    }
    shrink(3);
    for (int second = 1; second < OthelloService.WINDOW; second++) {
      pass(1);
      service.agents.put(3, without);
      checkReached();
      service.agents.remove(3);
    }
    pass(OthelloService.WINDOW);
    assertThat(service.named()).isZero();
  }

  /** Silent for several windows, but not unheard of: its server may have what it did not report. */
  @Test
  void nothingIsReleasedWhileTheFormerOwnersAgentIsSilent() throws Exception {
    Agent late = service.agents.remove(1);
    for (int i = 0; i < 100; i++) {
      long key = service.random.nextLong();
      if (service.opensAt(key) == 1) {
        late.opens(key);
      }
    }
    done(service.writer.change(List.of(weight(1, 30)), COMMIT));
    pass(3 * OthelloService.WINDOW + 30);
    assertThat(service.status().fallback()).isPresent();
    service.agents.put(1, late);
    checkReached();
    pass(OthelloService.AGE + OthelloService.SPACING);
    assertThat(service.status().miscoded()).isZero();
    pass(2 * OthelloService.WINDOW);
    assertThat(service.named()).isZero();
    checkReached();
  }

  @Test
  void theNextOnesWaitForTheSpacingAndAreAPatch() throws Exception {
    shrink(3);
    service.step();
    pass(OthelloService.AGE + 5);
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    service.step();
    assertThat(waiting().spacingSeconds()).isBetween(1L, (long) OthelloService.LAPSED);
    pass(OthelloService.KNOWN);
    LatestArrays latest = latest().orElseThrow();
    assertThat(latest.patches()).isNotEmpty();
    assertThat(service.counted("fairlead.othello.builds", "kind", "fresh")).isEqualTo(1);
    assertThat(service.status().miscoded()).isZero();
    checkReached();
  }

  @Test
  void moreConnectionsThanThereIsRoomForTakeAnotherSeedAndAWhole() throws Exception {
    shrink(3);
    pass(OthelloService.AGE + 5);
    for (int i = 0; i < 2000; i++) {
      long key = service.random.nextLong();
      service.agent(service.opensAt(key)).opens(key);
    }
    pass(OthelloService.KNOWN);
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    pass(5);
    assertThat(service.counted("fairlead.othello.commits", "kind", "whole")).isEqualTo(2);
    assertThat(latest().orElseThrow().previousWhole()).isPresent();
    checkReached();
  }

  @Test
  void silentAgentsStopArraysAndTheStatusNamesThem() throws Exception {
    shrink(3);
    service.step();
    service.agents.remove(2);
    pass(OthelloService.SPACING + 5);
    assertThat(waiting().agents()).containsExactly(2);
    assertThat(service.status().fallback()).contains("no agent reports for backend 2");
    assertThat(latest().orElseThrow().isSettled()).isFalse();
  }

  @Test
  void aServerCannotClaimTheConnectionsOfOthers() throws Exception {
    shrink(3);
    pass(3 * OthelloService.WINDOW);
    long[] others = service.agent(1).open.keySet().stream().mapToLong(key -> key).toArray();
    service
        .agent(2)
        .report(
            own -> new Changes(own.memory(), own.mark(), false, false, true, others, new long[0]));
    service.step();
    assertThat(service.status().refusedClaims().implausible()).isGreaterThan(0);
    assertThat(service.status().connections()).isEqualTo(CONNECTIONS);
    assertThat(service.status().miscoded()).isZero();
  }

  /** Their buckets came to the servers that claim them now: only the first claim tells whose. */
  @Test
  void aServerCannotClaimWhatWasAnothersBeforeItsBucketMoved() throws Exception {
    Agent silent = service.agents.remove(2); // no arrays yet
    shrink(3);
    long[] others = service.agent(3).open.keySet().stream().mapToLong(key -> key).toArray();
    service
        .agent(1)
        .report(
            own -> new Changes(own.memory(), own.mark(), false, false, true, others, new long[0]));
    service.step();
    assertThat(service.status().refusedClaims().contested()).isGreaterThan(0);
    assertThat(service.status().miscoded()).isEqualTo(others.length);
    service.agents.put(2, silent);
    pass(3 * OthelloService.WINDOW);
    checkReached();
  }

  /** A server got their bucket and claims them before the true one can report: none can say. */
  @Test
  void whatTwoServersClaimReachesBothUntilOneSaysOtherwise() throws Exception {
    for (int i = 0; i < 100; i++) {
      long key = service.random.nextLong();
      service.agent(service.opensAt(key)).opens(key);
    }
    Agent late = service.agents.remove(3);
    done(service.writer.change(List.of(weight(3, 10)), COMMIT));
    service.muxesCatchUp();
    Agent liar = service.agent(1);
    long[] others = late.open.keySet().stream().mapToLong(key -> key).toArray();
    liar.report(
        own -> new Changes(own.memory(), own.mark(), false, false, true, others, new long[0]));
    service.agents.remove(1); // silent about what it has, but its claims stay
    pass(5);
    service.agents.put(3, late);
    pass(3 * OthelloService.WINDOW);
    assertThat(service.status().disputed()).isGreaterThan(0);
    checkReached();
    service.agents.put(1, liar);
    liar.memory = ""; // the true agent starts again
    pass(3 * OthelloService.WINDOW);
    assertThat(service.status().disputed()).isZero();
    assertThat(service.status().miscoded()).isZero();
    assertThat(service.status().connections()).isEqualTo(CONNECTIONS + 100);
    checkReached();
  }

  @Test
  void answersThatAreLostLoseNoConnection() throws Exception {
    for (int i = 0; i < 50; i++) {
      long key = service.random.nextLong();
      service.agent(service.opensAt(key)).opens(key);
    }
    service.pass(OthelloService.AGE);
    service.agents.values().forEach(Agent::reportUnanswered);
    service.step();
    service.report();
    service.step();
    assertThat(service.status().connections()).isEqualTo(CONNECTIONS + 50);
    service.agent(1).open.clear();
    service.agent(1).reportUnanswered();
    service.report();
    service.step();
    assertThat(service.status().connections())
        .isEqualTo(service.agent(2).open.size() + service.agent(3).open.size());
  }

  @Test
  void aNewLeaderAsksAgainAndGoesOnFromTheCommittedArrays() throws Exception {
    shrink(3);
    pass(OthelloService.KNOWN);
    Optional<CommittedArrays> before = service.committed();
    service.failOver();
    service.step();
    assertThat(service.status().connections()).isZero();
    done(service.writer.change(List.of(weight(3, 100)), COMMIT));
    service.muxesCatchUp();
    service.step();
    assertThat(latest()).isEqualTo(before.map(CommittedArrays::latest));
    pass(3);
    assertThat(service.status().connections()).isEqualTo(CONNECTIONS);
    assertThat(service.status().miscoded()).isZero();
    assertThat(latest().orElseThrow().patches()).hasSize(1);
    checkReached();
  }

  /** The leader ends with chunks of the next arrays written and no generation that names them. */
  @Test
  void anOrphanOfAFormerLeaderIsNoArrays() throws Exception {
    shrink(3);
    long orphan = service.ring().generation() + 1;
    String path = "/fairlead/services/web/ring/gen/%010d/arrays/0000".formatted(orphan);
    service.client.create().creatingParentsIfNeeded().forPath(path, new byte[] {1});
    service.failOver();
    assertThat(service.client.checkExists().forPath(path)).isNull();
    pass(3);
    assertThat(latest().orElseThrow().generation()).isEqualTo(orphan);
    checkReached();
  }

  private Explanation explain(Optional<CommittedArrays> arrays, Flow flow) {
    return Explanation.of(
        service.writer.image(),
        arrays,
        flow,
        new FakeConnections(),
        new SettledMoves(SettledMoves.Told.AT_ONCE),
        Instant.ofEpochSecond(service.seconds()));
  }

  @Test
  void anExplanationNamesTheBucketsOfBothArrays() throws Exception {
    shrink(3);
    service.step();
    Optional<CommittedArrays> arrays = service.committed();
    int seconds = 0;
    for (int port = 1; port <= 50; port++) {
      Flow flow = new Flow("tcp", "10.2.1.2", port, "10.99.0.1", 80);
      Explanation low = explain(Optional.empty(), flow);
      Explanation both = explain(arrays, flow);
      assertThat(both.hash()).isEqualTo(low.hash());
      assertThat(both.arrays().orElseThrow().previous()).contains(0L);
      assertThat(both.second().map(Explanation.Second::bucket))
          .isEqualTo(low.bucket().filter(bucket -> !both.bucket().equals(low.bucket())));
      seconds += both.second().isPresent() ? 1 : 0;
    }
    assertThat(seconds).isGreaterThan(40);
  }

  @Test
  void connectionsOfARemovedBackendAreForgottenWithIt() throws Exception {
    done(service.writer.change(List.of(new Change.Remove(3, true)), Requests.FORCE));
    service.agents.remove(3);
    pass(3);
    assertThat(service.status().connections())
        .isEqualTo(service.agent(1).open.size() + service.agent(2).open.size());
    assertThat(service.status().fallback()).isEmpty();
  }

  @Test
  void agentsHurryWhileArraysWaitForThem() throws Exception {
    assertThat(service.keepers.nextSeconds("web")).hasValue(10);
    shrink(3);
    service.step();
    service.muxesCatchUp();
    done(service.writer.change(List.of(weight(2, 50)), COMMIT));
    service.muxesCatchUp();
    service.pass(OthelloService.SETTLED);
    service.step();
    assertThat(service.keepers.nextSeconds("web")).as("a SYN cookie may come back").hasValue(10);
    service.pass(OthelloService.LAPSED);
    service.agents.values().forEach(Agent::reportUnanswered); // they are not silent
    service.step();
    assertThat(service.keepers.nextSeconds("web")).hasValue(1);
  }
}
