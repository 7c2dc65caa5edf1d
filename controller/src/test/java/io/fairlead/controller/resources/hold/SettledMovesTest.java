// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.muxes.SettledMoves;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** How long a release waits for muxes that may still open connections at a former owner. */
class SettledMovesTest {
  private static final int BEHIND = 500;
  private static final int QUIET = BEHIND + SettledMoves.MARGIN_SECONDS;
  private static final long LONG_AGO = HeldStory.START - 100_000;

  /** What the tree says; null: what it is asked to say, at once. */
  private Long told;

  private final SettledMoves moves =
      new SettledMoves((service, generation) -> told == null ? generation : told);
  private final FakeConnections live = new FakeConnections();
  private final Questions questions = new Questions(live, this::settled);
  private final HeldStory story = new HeldStory(3).move(1, 4).wait(1000);
  private final List<MuxPresence.Present> present = new ArrayList<>();
  private final List<MuxPresence.Absent> absent = new ArrayList<>();
  private long watchedSince = LONG_AGO;
  private boolean unknownAge;

  private void mux(String id, MuxService web) {
    present.removeIf(each -> each.mux().id().equals(id));
    present.add(
        new MuxPresence.Present(
            Muxes.mux(id, "10.1.0.11", List.of("eth0"), Map.of("web", web)), BEHIND));
  }

  private void mux(String id, long generation) {
    mux(id, Muxes.serving(generation));
  }

  /** It has just lost its session, or ended. */
  private void lose(String id, int behindSeconds) {
    MuxPresence.Present lost =
        present.stream().filter(each -> each.mux().id().equals(id)).findFirst().orElseThrow();
    present.remove(lost);
    absent.add(new MuxPresence.Absent(lost.mux(), behindSeconds, story.now()));
  }

  /** That of service "tls", which has the same VIP if this is above 0. */
  private long tls;

  private OptionalLong sharing(String other) {
    return other.equals("tls") && tls > 0 ? OptionalLong.of(tls) : OptionalLong.empty();
  }

  private void mux(String id, MuxService web, MuxService tls) {
    present.removeIf(each -> each.mux().id().equals(id));
    Map<String, MuxService> services = Map.of("web", web, "tls", tls);
    present.add(
        new MuxPresence.Present(Muxes.mux(id, "10.1.0.11", List.of("eth0"), services), BEHIND));
  }

  private long generation() {
    return story.image().ring().generation();
  }

  /** Whether the move is settled now. */
  private boolean isSettled() {
    MuxPresence muxes = new MuxPresence(present, absent, watchedSince);
    moves.see(story.image(), muxes, this::sharing, story.now(), age());
    return moves.settledFor(story.image().ring().since(4)).isPresent();
  }

  /** Of the image, by a clock that agrees with those of all leaders before. */
  private long age() {
    return unknownAge ? 0 : story.now() - story.image().ring().committed();
  }

  /** Since when answers count, by the clock that dates questions. */
  private long settled(long since) {
    OptionalLong ago = moves.settledFor(since);
    return ago.isPresent() ? story.now() - ago.getAsLong() : Long.MAX_VALUE;
  }

  private void isSettledAfter(int seconds) {
    assertThat(isSettled()).isFalse();
    story.wait(seconds - 1);
    assertThat(isSettled()).isFalse();
    story.wait(1);
    assertThat(isSettled()).isTrue();
  }

  @Test
  void allPresentMuxesHaveTheMove() {
    mux("a", generation());
    mux("b", generation());
    story.move(2, 4);
    mux("a", generation());
    story.wait(10 * QUIET);
    assertThat(isSettled()).as("b is behind").isFalse();
    mux("b", generation());
    assertThat(isSettled()).isTrue();
  }

  /** Someone may be absent of whom this controller, or its predecessor, does not know. */
  @Test
  void everyMoveWaitsForThoseWhoMayBeAbsent() {
    story.move(2, 4);
    mux("a", generation());
    isSettledAfter(QUIET);
  }

  @Test
  void aControllerThatBeganToWatchWaitsFromThenOn() {
    mux("a", generation());
    story.move(2, 4).wait(10_000);
    mux("a", generation());
    watchedSince = story.now();
    isSettledAfter(QUIET);
    watchedSince = Long.MAX_VALUE;
    assertThat(new SettledMoves(SettledMoves.Told.AT_ONCE).settledFor(0))
        .as("seen nothing yet")
        .isEmpty();
  }

  /** As the clock is off; it has existed since it was seen, for certain. */
  @Test
  void aCommitOfUnknownAgeWaitsFromWhenItWasSeen() {
    story.move(2, 4).wait(10 * QUIET);
    mux("a", generation());
    unknownAge = true;
    isSettledAfter(QUIET);
  }

  /** Two commits of one second, seen before and after it ended: the later one looks older. */
  @Test
  void commitsSettleInTheirOrder() {
    story.move(2, 4);
    long first = generation();
    see(story.now(), 0);
    story.move(1, 4);
    mux("a", generation());
    see(story.now(), 1);
    for (int second = 0; second <= QUIET; second++) {
      see(story.now() + second, second);
    }
    assertThat(moves.settledForGeneration(generation())).isPresent();
    assertThat(moves.settledForGeneration(first)).isPresent();
  }

  private void see(long now, long age) {
    MuxPresence muxes = new MuxPresence(present, absent, watchedSince);
    moves.see(story.image(), muxes, this::sharing, now, age);
  }

  /** No wall clock is in it: what is settled says only for how long. */
  @Test
  void aMonotonicClockMayBeginAnywhere() {
    MuxPresence muxes = new MuxPresence(present, absent, -4 * QUIET);
    mux("a", generation());
    long since = story.image().ring().since(4);
    moves.see(story.image(), muxes, this::sharing, -3 * QUIET, 1);
    assertThat(moves.settledFor(since)).isEmpty();
    assertThat(moves.waits(since))
        .extracting(SettledMoves.Wait::secondsLeft)
        .containsExactly(OptionalLong.of(QUIET - 1));
    moves.see(story.image(), muxes, this::sharing, -2 * QUIET - 1, 0);
    assertThat(moves.settledFor(since)).hasValue(0);
    moves.see(story.image(), muxes, this::sharing, 7, 0);
    assertThat(moves.settledFor(since)).hasValue(2 * QUIET + 8);
    assertThat(moves.settledForGeneration(generation())).isPresent();
  }

  @Test
  void anAbsentMuxWithdrawsOnceItIsBehind() {
    mux("a", generation());
    mux("b", generation());
    story.move(2, 4);
    mux("a", generation());
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    lose("b", BEHIND);
    isSettledOnceHeard();
  }

  /** It withdraws first, then hears from the others what is settled. */
  private void isSettledOnceHeard() {
    assertThat(isSettled()).isFalse();
    story.wait(QUIET);
    assertThat(isSettled()).isFalse();
    assertThat(waits())
        .containsExactly(
            "b has no session with ZooKeeper, and hears from other muxes what is settled");
    isSettledAfter(SettledMoves.MARGIN_SECONDS);
  }

  @Test
  void anAbsentMuxThatHadTheMoveDelaysNothing() {
    mux("a", generation());
    mux("b", generation());
    story.move(2, 4);
    mux("a", generation());
    mux("b", generation());
    story.wait(QUIET);
    lose("b", 0);
    assertThat(isSettled()).isTrue();
  }

  /** What it lacks is settled once it is back, and has it. */
  @Test
  void anAbsentMuxThatNeverWithdrawsHoldsUp() {
    mux("a", generation());
    mux("b", generation());
    lose("b", 0);
    story.move(2, 4);
    mux("a", generation());
    story.wait(50 * QUIET);
    assertThat(isSettled()).isFalse();
    absent.clear();
    mux("b", generation());
    assertThat(isSettled()).isTrue();
  }

  /** At least half of the muxes have to be ahead, or none withdraws. */
  @Test
  void mostMuxesAreAbsent() {
    for (String id : List.of("a", "b", "c")) {
      mux(id, generation());
    }
    lose("b", BEHIND);
    lose("c", BEHIND);
    story.move(2, 4);
    mux("a", generation());
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    mux("d", generation());
    isSettledAfter(SettledMoves.MARGIN_SECONDS); // two of four
  }

  private static MuxService stopping(long generation) {
    return new MuxService(
        generation,
        "serving",
        Optional.of("stopping"),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.of(generation));
  }

  /** One of two muxes refuses the move and the other one stops: no mux would be left. */
  @Test
  void nothingIsSettledThatNoMuxWouldAnnounce() {
    mux("a", generation());
    mux("b", generation());
    story.move(2, 4);
    mux("a", stopping(generation()));
    mux("b", Muxes.behind(generation() - 1));
    story.wait(10 * QUIET);
    isSettled();
    story.wait(QUIET);
    assertThat(isSettled()).isFalse();
    mux("b", Muxes.behind(generation() - 1, generation()));
    assertThat(isSettled()).isFalse();
    assertThat(waits())
        .containsExactly(
            ("too few muxes announce generation %d for those that lack it to stay withdrawn")
                .formatted(generation()));
    mux("a", generation());
    assertThat(isSettled()).isTrue();
  }

  /** A controller that has just started knows nothing of muxes that are cut off. */
  @Test
  void nothingIsSettledWhileNothingIsKnownOfMuxes() {
    story.move(2, 4).wait(10 * QUIET);
    MuxPresence none = new MuxPresence(List.of(), Set.of(), List.of(), watchedSince, 2);
    moves.see(story.image(), none, SettledMoves.Sharing.NONE, story.now(), age());
    assertThat(moves.settledForGeneration(generation())).isEmpty();
    assertThat(waits()).hasSize(1).first().asString().startsWith("too few muxes announce");
    mux("a", generation());
    assertThat(isSettled()).isTrue();
  }

  /** It may announce whatever it has, for as long as it has a session. */
  @Test
  void aMuxWhoseNodeCannotBeReadHoldsUp() {
    mux("a", generation());
    story.move(2, 4);
    mux("a", generation());
    story.wait(50 * QUIET);
    MuxPresence muxes = new MuxPresence(present, Set.of("b"), absent, watchedSince, 2);
    moves.see(story.image(), muxes, this::sharing, story.now(), age());
    assertThat(moves.settledForGeneration(generation())).isEmpty();
    assertThat(waits()).containsExactly("b has a node that cannot be read");
    assertThat(isSettled()).isTrue();
  }

  /** There are more than are kept, and nothing ever settled. */
  @Test
  void aServiceThatChangesAllTheTimeSettlesAllTheSame() {
    int quiet = 3600 + SettledMoves.MARGIN_SECONDS;
    long first = generation() + 1;
    long settled = first - 1;
    long begin = story.now();
    for (int i = 0; i < 4000; i++) {
      story.wait(2).move(1 + i % 2, 4);
      Map<String, MuxService> web = Map.of("web", Muxes.serving(generation()));
      present.clear();
      present.add(new MuxPresence.Present(Muxes.mux("a", "10.1.0.11", List.of(), web), 3600));
      isSettled();
      while (settled < generation() && moves.settledForGeneration(settled + 1).isPresent()) {
        settled++;
      }
      long old = Math.max(-1, Math.floorDiv(story.now() - begin - 2 - quiet, 2));
      assertThat(settled).isLessThanOrEqualTo(first + old);
      assertThat(settled < first || moves.settledForGeneration(settled).isPresent())
          .as("once it was")
          .isTrue();
    }
    assertThat(settled).isGreaterThan(first + (story.now() - begin - 2 * quiet) / 2);
  }

  @Test
  void whoWithdrewIsWaitedForUntilRoutersFollow() {
    mux("a", generation());
    mux("b", generation());
    story.move(2, 4);
    mux("a", generation());
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    mux("b", Muxes.behind(generation() - 1));
    isSettled();
    story.wait(SettledMoves.MARGIN_SECONDS);
    assertThat(isSettled()).as("it may announce again").isFalse();
    assertThat(waits())
        .containsExactly("b has not stored that generation %d is settled".formatted(generation()));
    mux("b", Muxes.behind(generation() - 1, generation()));
    assertThat(isSettled()).isTrue();
  }

  /** It still opens connections of web there by its older ring. */
  @Test
  void whoKeepsTheVipForAnotherServiceHasNotWithdrawn() {
    tls = 7;
    mux("a", Muxes.serving(generation()), Muxes.serving(7));
    story.move(2, 4);
    long late = generation() - 1;
    mux("a", Muxes.serving(generation()), Muxes.serving(7));
    mux("b", Muxes.behind(late, generation()), Muxes.serving(7));
    isSettled();
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    assertThat(waits())
        .containsExactly("b has withdrawn, but announces VIPs of it for service 'tls'");
    mux("b", Muxes.behind(late, generation()), Muxes.behind(6));
    isSettledAfter(SettledMoves.MARGIN_SECONDS);
  }

  @Test
  void whoAnnouncesOtherVipsHasWithdrawn() {
    mux("a", Muxes.serving(generation()), Muxes.serving(7));
    story.move(2, 4).wait(10 * QUIET);
    mux("a", Muxes.serving(generation()), Muxes.serving(7));
    mux("b", Muxes.behind(generation() - 1, generation()), Muxes.serving(7));
    isSettledAfter(SettledMoves.MARGIN_SECONDS);
  }

  /** It withdraws web, and hears of nothing that it lacks of tls. */
  @Test
  void anAbsentMuxKeepsTheVipUntilItLacksSomethingOfAllServices() {
    tls = 7;
    mux("a", Muxes.serving(generation()), Muxes.serving(7));
    mux("b", Muxes.serving(generation()), Muxes.serving(7));
    lose("b", BEHIND);
    story.move(2, 4);
    mux("a", Muxes.serving(generation()), Muxes.serving(7));
    isSettled();
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    assertThat(waits())
        .containsExactly(
            "b has no session with ZooKeeper, and may announce VIPs of it for service 'tls'");
    tls = 8;
    assertThat(isSettled()).as("no mux announces generation 8 of tls").isFalse();
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    mux("a", Muxes.serving(generation()), Muxes.serving(8));
    isSettledOnceHeard();
  }

  /** It does not learn that tls is deleted. */
  @Test
  void anAbsentMuxKeepsTheVipForADeletedService() {
    mux("a", generation());
    mux("b", Muxes.serving(generation()), Muxes.serving(7));
    lose("b", BEHIND);
    story.move(2, 4).wait(10 * QUIET);
    mux("a", generation());
    MuxPresence muxes = new MuxPresence(present, absent, watchedSince);
    SettledMoves.Sharing deleted = other -> OptionalLong.of(0);
    for (int i = 0; i < 10; i++) {
      moves.see(story.image(), muxes, deleted, story.now(), age());
      story.wait(QUIET);
    }
    assertThat(waits()).hasSize(1).first().asString().endsWith("for service 'tls'");
    absent.clear();
    assertThat(isSettled()).isTrue();
  }

  /** Two muxes that lack another service of the VIP each would leave it without one. */
  @Test
  void whoHasWithdrawnForAnotherServiceOfTheVipIsNotAhead() {
    tls = 9;
    mux("a", Muxes.serving(generation()), Muxes.serving(8));
    mux("b", Muxes.serving(generation()), Muxes.serving(9));
    story.move(2, 4);
    mux("a", Muxes.below(generation(), generation()), Muxes.below(8, 9));
    mux("b", Muxes.behind(generation() - 1), Muxes.behind(9, 9));
    isSettled();
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    assertThat(waits()).hasSize(1).first().asString().startsWith("too few muxes announce");
    mux("a", Muxes.serving(generation()), Muxes.serving(9));
    mux("b", Muxes.behind(generation() - 1, generation()), Muxes.behind(9, 9));
    assertThat(isSettled()).isTrue();
  }

  private List<String> waits() {
    return moves.waitsOfGeneration(generation()).stream().map(SettledMoves.Wait::text).toList();
  }

  /** Whoever starts, or comes back with an older ring, must know it. */
  @Test
  void nothingIsSettledBeforeMuxesAreTold() {
    mux("a", generation());
    story.move(2, 4);
    told = generation() - 1;
    mux("a", generation());
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    assertThat(waits()).containsExactly("muxes are being told of it");
    told = generation();
    assertThat(isSettled()).isTrue();
  }

  /** Or it restarts from disk without ZooKeeper, with its older ring. */
  @Test
  void aMuxHasAMoveOnceItIsOnItsDisk() {
    mux("a", generation());
    story.move(2, 4);
    mux("a", Muxes.serving(generation(), generation() - 1));
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    assertThat(waits()).containsExactly("a has not stored generation %d".formatted(generation()));
    mux("a", generation());
    assertThat(isSettled()).isTrue();
  }

  @Test
  void anAbsentMuxLacksWhatIsNotOnItsDisk() {
    mux("a", generation());
    mux("b", generation());
    story.move(2, 4);
    mux("a", generation());
    mux("b", Muxes.serving(generation(), generation() - 1));
    story.wait(10 * QUIET);
    lose("b", BEHIND);
    isSettledOnceHeard();
  }

  @Test
  void aMuxBelowWhatWasSettledBeforeHasWithdrawn() {
    mux("a", generation());
    mux("b", generation());
    story.move(2, 4);
    mux("a", generation());
    story.wait(10 * QUIET);
    mux("b", Muxes.below(generation() - 1, generation()));
    isSettledAfter(SettledMoves.MARGIN_SECONDS);
  }

  @Test
  void whoStopsOrDoesNotServeTheServiceIsNotWaitedFor() {
    mux("a", generation());
    mux("b", stopping(generation()));
    mux("c", Muxes.unsupported("hash"));
    lose("b", 0);
    lose("c", 0);
    story.move(2, 4);
    mux("a", generation());
    isSettledAfter(QUIET);
  }

  @Test
  void commitsOfOneSecondAreSettledTogether() {
    mux("a", generation());
    story.move(2, 5);
    isSettled();
    mux("a", generation());
    story.move(2, 4); // in the same second
    story.wait(10 * QUIET);
    assertThat(isSettled()).isFalse();
    story.move(3, 9);
    assertThat(isSettled()).isFalse();
    mux("a", generation() - 1);
    assertThat(isSettled()).isTrue();
  }

  /** A bucket of long ago is asked about once, however often others move. */
  @Test
  void laterCommitsDoNotDelay() {
    story.move(2, 4);
    mux("a", generation());
    story.wait(QUIET);
    assertThat(isSettled()).isTrue();
    long settled = settled(story.image().ring().since(4));
    for (int i = 0; i < 100; i++) {
      story.move(1 + i % 3, 9).wait(60);
      mux("a", generation());
      isSettled();
    }
    assertThat(settled(story.image().ring().since(4))).isEqualTo(settled);
  }

  /**
   * The former owner had no connection, then a late mux opens one, and then the bucket is released.
   */
  @Test
  void noAnswerFromBeforeCounts() {
    live.has(1);
    mux("a", generation());
    mux("b", generation());
    story.move(2, 4);
    mux("a", generation());
    story.wait(10 * QUIET);
    isSettled();
    questions.ask(story.image(), Instant.ofEpochSecond(story.now()));
    live.answer();
    assertThat(questions.isAsking()).as("b may open one").isFalse();
    assertThat(story.release(questions).byReport()).isZero();
    mux("b", generation());
    isSettled();
    questions.ask(story.image(), Instant.ofEpochSecond(story.now()));
    assertThat(questions.isAsking()).as("a packet of b may be under way").isFalse();
    story.wait(Questions.waitSeconds(story.image().config()) - 1);
    isSettled();
    questions.ask(story.image(), Instant.ofEpochSecond(story.now()));
    assertThat(questions.isAsking()).as("a SYN cookie may come back").isFalse();
    story.wait(1);
    isSettled();
    live.has(1, 4);
    questions.ask(story.image(), Instant.ofEpochSecond(story.now()));
    live.answer();
    assertThat(story.release(questions).byReport()).as("b has opened one").isZero();
    live.has(1);
    live.answer();
    assertThat(story.release(questions).byReport()).isEqualTo(1);
  }
}
