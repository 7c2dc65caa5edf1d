// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.muxes.MuxPresence;
import io.fairlead.controller.resources.muxes.MuxService;
import io.fairlead.controller.resources.muxes.Muxes;
import io.fairlead.controller.resources.muxes.SettledMoves;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * A mux that has withdrawn since it can't forward holds up what is settled as one that serves: it
 * may announce again at any moment, with the ring that it has.
 */
class SickMuxTest {
  private static final int BEHIND = 500;
  private static final long LONG_AGO = HeldStory.START - 100_000;

  private final SettledMoves moves = new SettledMoves((service, generation) -> generation);
  private final HeldStory story = new HeldStory(3).move(1, 4).wait(1000).move(2, 4);
  private final long generation = story.image().ring().generation();

  private static MuxPresence.Present mux(String id, MuxService web) {
    return new MuxPresence.Present(
        Muxes.mux(id, "10.1.0.11", List.of("eth0"), Map.of("web", web)), BEHIND);
  }

  private static MuxService sick(long generation) {
    return new MuxService(
        generation,
        "serving",
        Optional.of("worker"),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.of(generation));
  }

  /** Whether the move is settled a long time after muxes are like that. */
  private boolean isSettled(List<MuxPresence.Present> present, List<MuxPresence.Absent> absent) {
    for (int i = 0; i < 3; i++) {
      story.wait(10 * BEHIND);
      MuxPresence muxes = new MuxPresence(present, absent, LONG_AGO);
      long age = story.now() - story.image().ring().committed();
      moves.see(story.image(), muxes, SettledMoves.Sharing.NONE, story.now(), age);
    }
    return moves.settledFor(story.image().ring().since(4)).isPresent();
  }

  @Test
  void oneThatLacksTheMoveIsWaitedFor() {
    MuxPresence.Present well = mux("a", Muxes.serving(generation));
    assertThat(isSettled(List.of(well, mux("b", sick(generation - 1))), List.of())).isFalse();
    assertThat(isSettled(List.of(well, mux("b", sick(generation))), List.of())).isTrue();
  }

  @Test
  void itIsNotAmongThoseThatAreLeft() {
    MuxPresence.Present behind = mux("c", Muxes.behind(generation - 1, generation));
    MuxPresence.Present well = mux("a", Muxes.serving(generation));
    MuxPresence.Present sick = mux("b", sick(generation));
    assertThat(isSettled(List.of(well, sick, behind), List.of())).isFalse();
    MuxPresence.Present healed = mux("b", Muxes.serving(generation));
    assertThat(isSettled(List.of(well, healed, behind), List.of())).isTrue();
  }

  @Test
  void oneThatIsGoneIsWaitedFor() {
    MuxPresence.Present well = mux("a", Muxes.serving(generation));
    MuxPresence.Absent gone =
        new MuxPresence.Absent(mux("b", sick(generation - 1)).mux(), 0, story.now());
    assertThat(isSettled(List.of(well), List.of(gone))).isFalse();
    assertThat(isSettled(List.of(well), List.of())).isTrue();
  }
}
