// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.agents.ConnectionReports.Changes;
import io.fairlead.controller.resources.othello.Memories.Accepted;
import io.fairlead.controller.resources.othello.Memories.Answer;
import io.fairlead.controller.resources.othello.Memories.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class MemoriesTest {
  private static final List<Integer> SEVEN = List.of(7);

  private long now = 5_000_000_000L;
  private final Memories memories = new Memories(() -> now, -1, 10, 100);
  private final List<Accepted> accepted = new ArrayList<>();

  private void pass(int seconds) {
    now += Duration.ofSeconds(seconds).toNanos();
  }

  private Answer report(Changes changes) {
    return memories.accept(SEVEN, Optional.of(changes), 0, accepted::add);
  }

  private static Changes whole(Answer after, boolean first, boolean last, long... opened) {
    return new Changes(after.memory(), after.mark(), true, first, last, opened, new long[0]);
  }

  private static Changes changes(Answer after, boolean last, long... opened) {
    return new Changes(after.memory(), after.mark(), false, false, last, opened, new long[0]);
  }

  private void takeAll() {
    accepted.forEach(memories::taken);
    accepted.clear();
  }

  private State state() {
    return memories.state(7, OptionalLong.empty());
  }

  private Answer hello() {
    return memories.accept(SEVEN, Optional.empty(), 0, accepted::add);
  }

  private Answer complete() {
    Answer answer = report(whole(hello(), true, true, 1));
    takeAll();
    return answer;
  }

  @Test
  void aServerIsCompleteOnceTheLastPartOfItsSetWasTakenIn() {
    Answer answer = hello();
    assertThat(state()).isEqualTo(State.INCOMPLETE);
    report(whole(answer, true, false, 1));
    takeAll();
    assertThat(state()).isEqualTo(State.INCOMPLETE);
    report(whole(answer, false, true, 2));
    assertThat(state()).as("not taken in").isEqualTo(State.INCOMPLETE);
    takeAll();
    assertThat(state()).isEqualTo(State.REPORTED);
  }

  @Test
  void theMarkSaysWhenAReportWasWrittenAtTheEarliest() {
    Answer answer = complete();
    long issued = now;
    pass(5);
    OptionalLong then = OptionalLong.of(issued + 1);
    assertThat(memories.state(7, then)).isEqualTo(State.LATE);
    Answer next = report(changes(answer, true, 2));
    takeAll();
    assertThat(memories.state(7, then)).as("written after an earlier mark").isEqualTo(State.LATE);
    report(changes(next, false, 3));
    takeAll();
    assertThat(memories.state(7, then)).as("more is to come").isEqualTo(State.LATE);
    report(changes(next, true));
    takeAll();
    assertThat(memories.state(7, then)).isEqualTo(State.REPORTED);
  }

  @Test
  void aMarkThatWasNeverIssuedSaysNothing() {
    Answer answer = complete();
    pass(5);
    for (String mark :
        List.of("", "x", "ffffffffffff-0", "000000000000-1", "ffffffffffff-7fffffff")) {
      report(new Changes(answer.memory(), mark, false, false, true, new long[0], new long[0]));
      takeAll();
    }
    assertThat(memories.state(7, OptionalLong.of(now - 1))).isEqualTo(State.LATE);
  }

  /** Each leads to another memory, and the server is not complete before its set is there again. */
  @Test
  void whateverDoesNotFollowStartsAnew() {
    for (int kind = 0; kind < 4; kind++) {
      Answer answer = complete();
      Changes wrong =
          switch (kind) {
            case 0 -> changes(new Answer("other", answer.mark(), Optional.empty()), true, 5);
            case 1 -> whole(answer, false, true, 5);
            case 2 -> changes(answer, true, new long[11]);
            default -> whole(new Answer("", "", Optional.empty()), true, true, 5);
          };
      Answer next = report(wrong);
      assertThat(next.memory()).as("kind %d", kind).isNotEqualTo(answer.memory());
      assertThat(next.refused().isPresent()).as("kind %d", kind).isEqualTo(kind == 2);
      assertThat(accepted).isEmpty();
      assertThat(state()).isEqualTo(State.INCOMPLETE);
    }
  }

  @Test
  void changesInTheMiddleOfASetStartAnew() {
    Answer answer = hello();
    report(whole(answer, true, false, 1));
    assertThat(report(changes(answer, true, 2)).memory()).isNotEqualTo(answer.memory());
    assertThat(accepted).hasSize(1);
    assertThat(memories.isCurrent(accepted.get(0))).isFalse();
    takeAll();
    assertThat(state()).isEqualTo(State.INCOMPLETE);
  }

  /** The answer was lost, so the same part comes again. */
  @Test
  void aRepeatedPartIsAccepted() {
    Answer answer = hello();
    report(whole(answer, true, true, 1));
    assertThat(report(whole(answer, true, true, 1)).memory()).isEqualTo(answer.memory());
    takeAll();
    assertThat(state()).isEqualTo(State.REPORTED);
  }

  @Test
  void tooManyConnectionsAreRefused() {
    Answer answer =
        memories.accept(SEVEN, Optional.of(whole(hello(), true, true, 1, 2)), 99, accepted::add);
    assertThat(answer.refused().orElseThrow()).contains("99").contains("100");
    assertThat(accepted).isEmpty();
  }

  @Test
  void aServerThatIsNotHeardIsSilent() {
    complete();
    pass(31);
    assertThat(state()).isEqualTo(State.SILENT);
    hello();
    assertThat(state()).isEqualTo(State.REPORTED);
    assertThat(memories.state(8, OptionalLong.empty())).as("never heard").isEqualTo(State.SILENT);
  }

  @Test
  void onlyAServerThatWasHeardIsAwaitedForLong() {
    OptionalLong before = OptionalLong.of(now);
    complete();
    pass(1);
    OptionalLong after = OptionalLong.of(now);
    assertThat(memories.isAwaited(7, OptionalLong.empty(), false)).isTrue();
    assertThat(memories.isAwaited(8, before, false)).as("it may have no agent").isTrue();
    pass(3_600);
    assertThat(memories.isAwaited(7, before, false)).as("reported").isFalse();
    assertThat(memories.isAwaited(7, after, false)).isTrue();
    assertThat(memories.isAwaited(7, OptionalLong.empty(), false)).isTrue();
    assertThat(memories.isAwaited(8, OptionalLong.empty(), false)).isFalse();
    assertThat(memories.isAwaited(8, OptionalLong.empty(), true)).as("it has one").isTrue();
  }

  @Test
  void aServerThatBecomesAnotherBackendTooStartsAnew() {
    Answer answer = complete();
    Answer next = memories.accept(List.of(7, 8), Optional.empty(), 0, accepted::add);
    assertThat(next.memory()).isNotEqualTo(answer.memory());
    assertThat(memories.state(8, OptionalLong.empty())).isEqualTo(State.INCOMPLETE);
  }
}
