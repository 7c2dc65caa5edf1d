// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.hold;

import static io.fairlead.controller.hold.HeldStory.HOLD;
import static io.fairlead.controller.hold.HeldStory.WINDOW;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.agents.FakeConnections;
import java.util.BitSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Whom the owner of held buckets asks, about which, and when an answer counts. */
class QuestionsTest {
  private final FakeConnections live = new FakeConnections();
  private final Questions questions = new Questions(live, since -> since);

  private static BitSet set(int... buckets) {
    BitSet set = new BitSet();
    IntStream.of(buckets).forEach(set::set);
    return set;
  }

  private void ask(HeldStory story) {
    questions.ask(story.image(), story.now());
  }

  @Test
  void onlyHeldBucketsAreAskedAbout() {
    live.has(1).has(2);
    HeldStory story = new HeldStory(3).move(1, 0, 1, 2).wait(1000).move(2, 0, 1).wait(100);
    story.move(2, 2).wait(WINDOW - 101);
    ask(story);
    assertThat(questions.isAsking()).as("their window is open").isFalse();
    ask(story.wait(1));
    assertThat(live.asked(1)).isEqualTo(set(0, 1));
    assertThat(live.asked(2)).as("the owner itself").isEqualTo(set());
    ask(story.wait(100));
    assertThat(live.asked(1)).isEqualTo(set(0, 1, 2));
    assertThat(live.questions()).isEqualTo(2);
    ask(story.wait(5));
    assertThat(live.questions()).as("the same set is the same question").isEqualTo(2);
  }

  @Test
  void allOwnersBeforeAreAsked() {
    live.has(1, 7).has(2);
    HeldStory story = new HeldStory(3).move(1, 7).wait(10).move(2, 7).wait(10).move(3, 7);
    ask(story.wait(WINDOW));
    assertThat(live.asked(1)).isEqualTo(set(7));
    assertThat(live.asked(2)).isEqualTo(set(7));
    live.answer();
    assertThat(story.release(questions).runs()).as("1 has a connection").hasToString("[ 7+1:2 ]");
    live.has(1);
    live.answer();
    assertThat(story.release(questions)).extracting(Release::byReport).isEqualTo(1);
  }

  @Test
  void whoHasNoAgentIsNotAskedAndItsBucketsWaitForTheLimit() {
    live.has(2);
    HeldStory story = new HeldStory(3).move(1, 4).move(2, 5).wait(1000).move(3, 4, 5).wait(WINDOW);
    ask(story);
    assertThat(live.asked(1)).isEqualTo(set());
    live.answer();
    assertThat(story.release(questions).runs()).hasToString("[ 5+1:0 ]");
    story.wait(HOLD - WINDOW - 1);
    assertThat(story.release(questions).atLimit()).isZero();
    story.wait(1);
    assertThat(story.release(questions).byReport()).isEqualTo(1);
    assertThat(story.release(questions).atLimit()).isEqualTo(1);
  }

  @Test
  void silenceIsNotZero() {
    live.has(1);
    HeldStory story = new HeldStory(2).move(1, 4).wait(1000).move(2, 4).wait(WINDOW);
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
  void anAnswerFromBeforeTheLastMoveDoesNotCount() {
    live.has(1);
    HeldStory story = new HeldStory(2).hold(1, HOLD).move(1, 4).wait(1000).move(2, 4).wait(1);
    ask(story);
    live.answer();
    assertThat(story.release(questions).byReport()).isEqualTo(1);
    story.wait(1).move(1, 4).wait(1).move(2, 4).wait(1);
    assertThat(story.release(questions).byReport()).as("asked too early").isZero();
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
    HeldStory story = new HeldStory(2).move(1, 4).wait(1000).move(2, 4).wait(WINDOW);
    ask(story);
    assertThat(live.asked(1)).isEqualTo(set(4));
    ask(story.hold(WINDOW, 0));
    assertThat(live.asked(1)).isEqualTo(set());
    assertThat(questions.isAsking()).isFalse();
  }

  /** Room for six at a time; each bucket's owners, two of them, are asked together. */
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
    story.wait(10).move(backends + 1, IntStream.range(0, backends).toArray()).wait(WINDOW);
    BitSet released = new BitSet();
    for (int turn = 0; turn < 2 * backends; turn++) {
      few.ask(story.image(), story.now());
      long asked =
          IntStream.rangeClosed(1, backends).filter(id -> !live.asked(id).isEmpty()).count();
      assertThat(asked).isBetween(1L, 6L);
      live.answer();
      Release release = story.release(few);
      for (int run = 0; run < release.runs().size(); run++) {
        released.set(release.runs().start(run), release.runs().end(run));
      }
      story.wait(Questions.TURN_SECONDS);
    }
    assertThat(released.cardinality()).isEqualTo(backends);
  }
}
