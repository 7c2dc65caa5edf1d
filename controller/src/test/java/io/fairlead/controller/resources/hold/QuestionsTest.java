// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static io.fairlead.controller.resources.hold.HeldStory.HOLD;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.agents.FakeConnections;
import java.time.Instant;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which former owners are asked, about which buckets, and when an answer counts. */
class QuestionsTest {
  private static final int WAIT = 130;

  private final FakeConnections live = new FakeConnections();
  private final Questions questions = new Questions(live, since -> since);

  private static BitSet set(int... buckets) {
    BitSet set = new BitSet();
    IntStream.of(buckets).forEach(set::set);
    return set;
  }

  private void ask(HeldStory story) {
    questions.ask(story.image(), Instant.ofEpochSecond(story.now()));
  }

  @Test
  void bucketsThatWereLostLongEnoughAgoAreAskedAbout() {
    live.has(1).has(2);
    HeldStory story = new HeldStory(3).move(1, 0, 1, 2).wait(1000).move(2, 0, 1).wait(100);
    story.move(2, 2).wait(WAIT - 101);
    ask(story);
    assertThat(questions.isAsking()).as("a cookie may come back").isFalse();
    ask(story.wait(1));
    assertThat(live.asked(1)).isEqualTo(set(0, 1));
    assertThat(live.asked(2)).as("the owner itself").isEqualTo(set());
    ask(story.wait(100));
    assertThat(live.asked(1)).isEqualTo(set(0, 1, 2));
    assertThat(live.questions()).isEqualTo(2);
    ask(story.wait(5));
    assertThat(live.questions()).as("the same set is the same question").isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource({
    "1, tcp, 10",
    "10, tcp, 10",
    "70, tcp, 70",
    "240, tcp, 130",
    "5, udp, 10",
    "240, udp, 240"
  })
  void aWindowSaysForHowLong(int window, String protocol, int seconds) {
    ServiceConfig config =
        ServiceConfig.builder(1, "web")
            .windowSeconds(window)
            .ports(List.of(new ServiceConfig.Port(protocol, 53)))
            .build();
    assertThat(Questions.waitSeconds(config)).isEqualTo(seconds);
  }

  /** Each from when it lost the bucket, and each is released alone. */
  @Test
  void allFormerOwnersAreAsked() {
    live.has(1, 7).has(2).has(3);
    HeldStory story = new HeldStory(4).move(1, 7).wait(100).move(2, 7).wait(20).move(3, 7);
    ask(story.wait(20).move(4, 7).wait(WAIT - 30));
    assertThat(live.asked(1)).isEqualTo(set(7));
    assertThat(live.asked(2)).isEqualTo(set());
    ask(story.wait(10));
    assertThat(live.asked(2)).isEqualTo(set(7));
    live.answer();
    assertThat(story.release(questions).runs()).as("1 has a connection").hasToString("[ 7+1:2 ]");
    assertThat(story.release(questions).single()).isEqualTo(1);
    story.apply(story.release(questions));
    ask(story.wait(20));
    live.has(1);
    live.answer();
    assertThat(story.release(questions)).extracting(Release::byReport).isEqualTo(1);
  }

  /** It would open connections at the former owner. */
  @Test
  void aMuxThatIsBehindIsWaitedFor() {
    long[] settled = {Long.MAX_VALUE};
    Questions waiting = new Questions(live, since -> settled[0]);
    live.has(1);
    HeldStory story = new HeldStory(2).move(1, 4).wait(1000).move(2, 4).wait(1000);
    waiting.ask(story.image(), Instant.ofEpochSecond(story.now()));
    assertThat(waiting.isAsking()).isFalse();
    settled[0] = story.now();
    waiting.ask(story.image(), Instant.ofEpochSecond(story.wait(1).now()));
    assertThat(waiting.isAsking()).as("its packets may be under way").isFalse();
    waiting.ask(story.image(), Instant.ofEpochSecond(story.wait(WAIT - 2).now()));
    assertThat(waiting.isAsking()).as("a SYN cookie that it caused may come back").isFalse();
    waiting.ask(story.image(), Instant.ofEpochSecond(story.wait(1).now()));
    assertThat(live.asked(1)).isEqualTo(set(4));
  }

  @Test
  void whoHasNoAgentIsNotAskedAndItsBucketsWaitForTheLimit() {
    live.has(2);
    HeldStory story = new HeldStory(3).move(1, 4).move(2, 5).wait(1000).move(3, 4, 5).wait(WAIT);
    ask(story);
    assertThat(live.asked(1)).isEqualTo(set());
    live.answer();
    assertThat(story.release(questions).runs()).hasToString("[ 5+1:0 ]");
    story.wait(HOLD - WAIT - 1);
    assertThat(story.release(questions).atLimit()).isZero();
    story.wait(1);
    assertThat(story.release(questions).byReport()).isEqualTo(1);
    assertThat(story.release(questions).atLimit()).isEqualTo(1);
  }

  @Test
  void silenceIsNotZero() {
    live.has(1);
    HeldStory story = new HeldStory(2).move(1, 4).wait(1000).move(2, 4).wait(WAIT);
    ask(story);
    assertThat(story.release(questions).byReport()).as("no answer yet").isZero();
    live.answer();
    live.silence(1);
    assertThat(story.release(questions).byReport()).as("silent since").isZero();
    ask(story);
    assertThat(questions.isAsking()).isFalse();
  }

  /** The set is the same as before, but the bucket has moved away and back meanwhile. */
  @Test
  void anAnswerFromBeforeTheLastLossDoesNotCount() {
    live.has(1);
    HeldStory story = new HeldStory(2).hold(1, HOLD).move(1, 4).wait(1000).move(2, 4).wait(10);
    ask(story);
    live.answer();
    assertThat(story.release(questions).byReport()).isEqualTo(1);
    story.wait(1).move(1, 4).wait(1).move(2, 4).wait(9);
    ask(story);
    assertThat(story.release(questions).byReport()).as("asked too early").isZero();
    story.wait(1);
    ask(story);
    assertThat(live.asked(1)).isEqualTo(set(4));
    assertThat(live.questions()).as("asked again").isEqualTo(2);
    assertThat(story.release(questions).byReport()).as("not answered yet").isZero();
    live.answer();
    assertThat(story.release(questions).byReport()).isEqualTo(1);
  }

  @Test
  void questionsEndWithTheHold() {
    live.has(1);
    HeldStory story = new HeldStory(2).move(1, 4).wait(1000).move(2, 4).wait(WAIT);
    ask(story);
    assertThat(live.asked(1)).isEqualTo(set(4));
    ask(story.hold(HeldStory.WINDOW, 0));
    assertThat(live.asked(1)).isEqualTo(set());
    assertThat(questions.isAsking()).isFalse();
  }

  /** Room for six at a time. */
  @Test
  void ownersTakeTurns() {
    int backends = 20;
    Questions few = new Questions(live, since -> since, 6 * 256 / 8);
    HeldStory story = new HeldStory(backends + 1);
    for (int id = 1; id <= backends; id++) {
      live.has(id);
      story.move(id, id - 1);
    }
    story.wait(1000);
    for (int id = 1; id <= backends; id++) {
      story.move(1 + id % backends, id - 1);
    }
    story.wait(10).move(backends + 1, IntStream.range(0, backends).toArray()).wait(WAIT);
    int turns = 0;
    while (HoldCounts.of(story.image()).named() > 0) {
      few.ask(story.image(), Instant.ofEpochSecond(story.now()));
      assertThat(IntStream.rangeClosed(1, backends).filter(id -> !live.asked(id).isEmpty()).count())
          .isBetween(1L, 6L);
      live.answer();
      story.apply(story.release(few)).wait((int) Questions.TURN.toSeconds());
      turns++;
      assertThat(turns).isLessThan(4 * backends);
    }
    assertThat(turns).isGreaterThan(backends / 6);
  }
}
