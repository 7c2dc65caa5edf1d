// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.lifecycle.BeforeTry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Deferred events on time that the test lets pass. */
class EventQueueTest {
  private static final Instant START = Instant.ofEpochSecond(1_700_000_000);
  private static final Duration STEP = Duration.ofMillis(100);

  /** An event begins so late at most: spaced from the one before, and after the clock was set. */
  private static final Duration LATE =
      EventQueue.SPACING
          .plus(EventTimer.COMPARISONS)
          .plus(EventTimer.PARTED)
          .plus(STEP.multipliedBy(2));

  private final List<String> ran = new ArrayList<>();
  private VirtualTime time;
  private EventQueue queue;

  @BeforeEach
  @BeforeTry
  void open() {
    time = new VirtualTime(START);
    queue = new EventQueue(time.threads(), time.timer, () -> ran.add("clock set"));
    queue.open();
  }

  private void schedule(String tag, long seconds, String event) {
    queue.schedule(tag, START.plusSeconds(seconds), now -> ran.add(event));
  }

  private void pass(long millis) {
    time.pass(Duration.ofMillis(millis));
  }

  @Test
  void anEventRunsAtItsDeadlineAndOnce() {
    schedule("a", 10, "a");
    pass(9_999);
    assertThat(ran).isEmpty();
    pass(1);
    assertThat(ran).containsExactly("a");
    pass(60_000);
    assertThat(ran).containsExactly("a");
  }

  @Test
  void anotherDeadlineReplacesTheOneBefore() {
    schedule("a", 10, "first");
    schedule("b", 15, "other tag");
    schedule("a", 20, "later");
    pass(19_999);
    assertThat(ran).containsExactly("other tag");
    schedule("a", 30, "last");
    schedule("a", 20, "sooner");
    pass(20_000);
    assertThat(ran).containsExactly("other tag", "sooner");
    schedule("a", 50, "never");
    queue.schedule("a", EventQueue.NEVER, now -> ran.add("at the end of time"));
    pass(60_000);
    assertThat(ran).hasSize(2);
  }

  /** One whose turn has come but that has not begun is replaced, too. */
  @Test
  void whatWaitsForAThreadHasNotBegun() {
    schedule("a", 1, "first");
    time.isFree = false;
    pass(2000);
    schedule("a", 10, "second");
    time.isFree = true;
    pass(0);
    assertThat(ran).isEmpty();
    pass(8000);
    assertThat(ran).containsExactly("second");
  }

  @Test
  void whatStaysDueIsTriedAgain() {
    for (int i = 1; i <= 3; i++) {
      queue.schedule("a", EventQueue.AT_ONCE, now -> ran.add("a"));
      pass(EventQueue.SPACING.toMillis() - 1);
      assertThat(ran).hasSize(i);
      pass(1);
    }
    schedule("b", 0, "b");
    pass(0);
    assertThat(ran).as("tags do not wait for each other").last().isEqualTo("b");
  }

  @Test
  void whileTheLeaderCanDoNothingEventsWait() {
    time.isLeading = false;
    schedule("a", 1, "a");
    pass(600_000);
    assertThat(ran).isEmpty();
    time.isLeading = true;
    pass(EventQueue.SPACING.toMillis());
    assertThat(ran).containsExactly("a");
  }

  @Test
  void aClockThatIsSetMovesDeadlines() {
    schedule("a", 3600, "a");
    time.jump(Duration.ofHours(1));
    pass(EventTimer.COMPARISONS.toMillis());
    assertThat(ran).containsExactlyInAnyOrder("clock set", "a");
    schedule("b", 3700, "b");
    time.jump(Duration.ofMinutes(-1));
    pass(150_000);
    assertThat(ran).doesNotContain("b");
    pass(10_000);
    assertThat(ran).contains("b");
  }

  @Test
  void anEventWhoseAlarmHasRungGetsNoSecondOne() {
    time.isLeading = false;
    schedule("a", 1, "a");
    time.isFree = false;
    pass(2000);
    time.jump(Duration.ofMinutes(1));
    pass(EventTimer.COMPARISONS.toMillis());
    time.isFree = true;
    pass(10_000);
    assertThat(time.alarms()).isEqualTo(1);
  }

  @Test
  void aClosedQueueDropsWhatHasNotBegun() {
    schedule("a", 1, "a");
    schedule("b", 3, "b");
    time.isFree = false;
    pass(2000);
    queue.close();
    time.isFree = true;
    pass(10_000);
    schedule("a", 0, "late");
    pass(10_000);
    assertThat(ran).isEmpty();
    queue.execute(() -> ran.add("request"));
    pass(0);
    assertThat(ran).containsExactly("request");
  }

  /** As if all that is scheduled were looked at in each step. */
  private final class Oracle {
    private final Map<String, Integer> numbers = new HashMap<>();
    private final Map<String, Instant> dues = new HashMap<>();
    private final Map<String, Duration> waited = new HashMap<>();
    private int last;

    void schedule(String tag, Instant due) {
      if (due.equals(dues.get(tag))) {
        return;
      }
      numbers.put(tag, ++last);
      dues.put(tag, due);
      int number = last;
      queue.schedule(tag, due, now -> begun(tag, number, now));
    }

    private void begun(String tag, int number, Instant now) {
      assertThat(number).as("the latest event of the tag").isEqualTo(numbers.get(tag));
      assertThat(now).isAfterOrEqualTo(dues.remove(tag));
      numbers.remove(tag);
      waited.remove(tag);
    }

    /** What could have begun for long has. */
    void step() {
      for (Map.Entry<String, Instant> each : dues.entrySet()) {
        boolean isDue = !each.getValue().isAfter(time.instant()) && time.isLeading && time.isFree;
        Duration before = waited.getOrDefault(each.getKey(), Duration.ZERO);
        Duration waits = isDue ? before.plus(STEP) : Duration.ZERO;
        assertThat(waits).as(each.getKey()).isLessThanOrEqualTo(LATE);
        waited.put(each.getKey(), waits);
      }
    }
  }

  @Property(tries = 300)
  void noEventIsLostOrEarly(@ForAll long seed) {
    Random random = new Random(seed);
    Oracle oracle = new Oracle();
    for (int step = 0; step < 2000; step++) {
      int what = random.nextInt(100);
      String tag = "tag " + random.nextInt(4);
      if (what < 15) {
        oracle.schedule(tag, time.instant().plusSeconds(random.nextInt(-5, 30)));
      } else if (what < 20) {
        oracle.schedule(tag, EventQueue.AT_ONCE);
      } else if (what < 22) {
        oracle.schedule(tag, EventQueue.NEVER);
      } else if (what < 24) {
        time.isLeading = !time.isLeading;
      } else if (what < 26) {
        time.isFree = !time.isFree;
      } else if (what < 27) {
        time.jump(Duration.ofMillis(random.nextInt(-100_000, 100_000)));
      }
      time.pass(STEP);
      oracle.step();
    }
  }
}
