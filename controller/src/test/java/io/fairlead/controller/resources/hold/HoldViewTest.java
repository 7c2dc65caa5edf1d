// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.agents.FakeConnections;
import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.SettledMoves;
import java.time.Instant;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What is said of a backend that loses one bucket, and another one 100 s later, and has connections
 * in both. No mux is known, so moves are settled after 70 s, and questions count after 200 s.
 */
class HoldViewTest {
  private static final int SECOND = 100;

  private long now;
  private final FakeConnections live = new FakeConnections().has(1, 4, 5);
  private final SettledMoves settled = new SettledMoves(SettledMoves.Told.AT_ONCE);
  private final Questions questions =
      new Questions(
          live,
          since ->
              settled.settledFor(since).isPresent()
                  ? now - settled.settledFor(since).getAsLong()
                  : Long.MAX_VALUE);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        "69 | 1 | - | not asked yet: some mux may be absent that this controller never saw, for 1"
            + " s",
        "70 | 1 | - | not asked yet: a SYN cookie may still come back, for 130 s",
        "150 | 2 | - | not asked yet: a SYN cookie may still come back, for 50 s",
        "200 | 1 | - | backend 1 has not answered yet",
        "201 | 1 | 1 | of the buckets that it lost last: not asked yet:"
            + " a SYN cookie may still come back, for 99 s",
        "299 | 1 | 1 | of the buckets that it lost last: not asked yet:"
            + " a SYN cookie may still come back, for 1 s",
        "300 | 0 | 2 | of the buckets that it lost last: backend 1 has not answered yet",
        "301 | 0 | 2 | -",
      })
  void eachBucketIsWaitedFor(int seconds, int waiting, Long connections, String unknown) {
    HeldStory story = new HeldStory(2).move(1, 4, 5).wait(1000).move(2, 4);
    long first = story.now();
    while (true) {
      now = story.now();
      settled.see(
          story.image(),
          MuxPresence.NONE,
          SettledMoves.Sharing.NONE,
          now,
          now - story.image().ring().committed());
      questions.ask(story.image(), Instant.ofEpochSecond(now));
      live.answer();
      if (now == first + seconds) {
        break;
      }
      story.wait(1);
      if (story.now() == first + SECOND) {
        story.move(2, 5);
      }
    }
    HoldView view = HoldView.of(story.image(), live, settled, Instant.ofEpochSecond(now));
    assertThat(view.waitingBuckets()).isEqualTo(waiting);
    HoldView.Owner owner = view.owners().get(0);
    assertThat(owner.connections().orElse(null)).isEqualTo(connections);
    assertThat(owner.unknown().orElse(null)).isEqualTo(unknown);
    assertThat(view.connections().isPresent()).isEqualTo(unknown == null);
  }
}
