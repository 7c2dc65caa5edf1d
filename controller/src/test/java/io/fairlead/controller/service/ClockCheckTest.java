// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.StoreException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Two clocks that the test sets, in a world whose time passes only when the test says so. */
class ClockCheckTest {
  private static final long START = 1_700_000_000_000L;

  /** Milliseconds since the start of the world. */
  private long passed;

  /** By which the controller's wall clock is ahead of the world, and ZooKeeper's. */
  private long ahead;

  private long zookeeperAhead;

  /** How long a write takes to ZooKeeper, and the answer back. */
  private long there;

  private long back;
  private boolean isAway;
  private int writes;
  private int refusals;

  private final InstantSource wall = () -> Instant.ofEpochMilli(START + passed + ahead);

  private final ClockCheck check = new ClockCheck(wall, this::nanos, this::write, () -> refusals++);

  /** Near the end of the monotonic clock's range, past which it goes on from the other end. */
  private long nanos() {
    return Long.MAX_VALUE - 5 + TimeUnit.MILLISECONDS.toNanos(passed);
  }

  private long write() throws StoreException {
    if (isAway) {
      throw new StoreException("ZooKeeper is away");
    }
    writes++;
    passed += there;
    long written = START + passed + zookeeperAhead;
    passed += back;
    return written;
  }

  private long commit() {
    return check.second(WriteOptions.COMMIT).getEpochSecond();
  }

  private boolean commits() {
    try {
      assertThat(commit()).isEqualTo((START + passed + ahead) / 1000);
      return true;
    } catch (Refusal e) {
      assertThat(e.kind()).isEqualTo(Refusal.Kind.UNAVAILABLE);
      assertThat(e.field()).isEqualTo("clock");
      return false;
    }
  }

  /** The round trip counts in the clock's favour, and nothing else does. */
  @ParameterizedTest
  @CsvSource({
    // ahead, zookeeperAhead, there, back, difference, commits
    "    0,     0,    0,    0,      0, true",
    " 2000,     0,    0,    0,   2000, true",
    " 2001,     0,    0,    0,   2001, false",
    "-2000,     0,    0,    0,  -2000, true",
    "-2001,     0,    0,    0,  -2001, false",
    "    0, -2001,    0,    0,   2001, false",
    "    0,  2001,    0,    0,  -2001, false",
    " 9000,  9000,    0,    0,      0, true",
    " 2600,     0,  600,    0,   2000, true",
    " 2601,     0,  600,    0,   2001, false",
    " 2001,     0,    0,  600,   2001, false",
    "-2600,     0,    0,  600,  -2000, true",
    "-2601,     0,    0,  600,  -2001, false",
    "-2001,     0,  600,    0,  -2001, false",
    "  300,     0,  300,  300,      0, true",
    " 2592000000, 0, 5,    5, 2591999995, false",
    "-2592000000, 0, 5,    5, -2591999995, false",
  })
  void onlyAClockThatIsCertainlyOffIsRefused(
      long controller, long zookeeper, long to, long from, long difference, boolean commits)
      throws StoreException {
    ahead = controller;
    zookeeperAhead = zookeeper;
    there = to;
    back = from;
    check.sample();
    assertThat(check.difference()).isEqualTo(difference / 1000.0);
    assertThat(commits()).isEqualTo(commits);
    assertThat(refusals).isEqualTo(commits ? 0 : 1);
  }

  /** A leader asks itself: no request to ZooKeeper is sent, and no refusal is counted. */
  @ParameterizedTest
  @CsvSource({
    // ahead, isAllowed
    "    0, true",
    " 2000, true",
    " 2001, false",
    "-2000, true",
    "-2001, false",
    " 3600000, false",
    "-3600000, false",
  })
  void whatALeaderDoesByItselfWaitsForARightClock(long jump, boolean isAllowed)
      throws StoreException {
    assertThat(check.leadSeconds()).as("not compared yet").isEmpty();
    assertThat(check.age(START / 1000 - 100)).isZero();
    check.sample();
    ahead = jump;
    passed += 1000;
    long now = (START + passed + ahead) / 1000;
    assertThat(check.leadSeconds())
        .isEqualTo(isAllowed ? OptionalLong.of(now) : OptionalLong.empty());
    assertThat(check.age(now - 100)).isEqualTo(isAllowed ? 100 : 0);
    assertThat(check.age(now + 1)).isZero();
    passed += ClockCheck.AGE_MAX.toMillis();
    assertThat(check.leadSeconds()).as("compared too long ago").isEmpty();
    assertThat(writes).isEqualTo(1);
    assertThat(refusals).isZero();
    ClockCheck off = ClockCheck.off(wall, this::nanos, this::write);
    assertThat(off.leadSeconds()).hasValue((START + passed + ahead) / 1000);
  }

  @Test
  void theRefusalNamesBothTimes() {
    ahead = 3_600_500;
    assertThatThrownBy(this::commit)
        .isInstanceOfSatisfying(
            Refusal.class,
            refusal -> {
              assertThat(refusal.value())
                  .isEqualTo("2023-11-14T23:13:20.500Z, while ZooKeeper's is 2023-11-14T22:13:20Z");
              assertThat(refusal.allowed()).contains("at most 2 s", "nothing was written");
            });
  }

  @ParameterizedTest
  @CsvSource({"2001", "-2001", "31536000000"})
  void aJumpBetweenTwoCommitsIsNoticedAtTheNextOne(long jump) {
    assertThat(commits()).isTrue();
    passed += 1000;
    assertThat(commits()).isTrue();
    assertThat(writes).as("a right clock costs commits no request").isEqualTo(1);
    ahead = jump;
    assertThat(commits()).isFalse();
    ahead = 0;
    assertThat(commits()).isTrue();
  }

  /** The monotonic clock stands still meanwhile, or ZooKeeper's clock is set right. */
  @Test
  void aClockThatAgreesAgainCommitsAtOnce() {
    assertThat(commits()).isTrue();
    passed += 1000;
    ahead = 5000;
    zookeeperAhead = 5000;
    assertThat(commits()).isTrue();
    assertThat(writes).isEqualTo(2);
  }

  @Test
  void refusedCommitsAskZooKeeperAtMostTwiceASecond() {
    ahead = 10_000;
    for (int commit = 0; commit < 100; commit++) {
      assertThat(commits()).isFalse();
      passed += 10;
    }
    assertThat(writes).isEqualTo(2);
    assertThat(refusals).isEqualTo(100);
  }

  /** A stopped process or a slow ZooKeeper makes a sample say little; the one before says more. */
  @Test
  void aLongRoundTripDoesNotReplaceAGoodSample() throws StoreException {
    check.sample();
    there = 30_001;
    check.sample();
    ahead = 2001;
    assertThat(check.difference()).isEqualTo(2.001);
    assertThat(commits()).as("asks again; the good sample is too old by then").isTrue();
    there = 0;
    check.sample();
    assertThat(commits()).isFalse();
  }

  @Test
  void withoutZooKeeperNothingIsCommittedOnceTheSampleIsAMinuteOld() {
    isAway = true;
    assertThat(check.difference()).isNaN();
    assertThatThrownBy(this::commit).hasMessageContaining("ZooKeeper is away");
    isAway = false;
    assertThat(commits()).isTrue();
    isAway = true;
    passed += ClockCheck.AGE_MAX.toMillis();
    assertThat(commits()).isTrue();
    passed++;
    assertThatThrownBy(this::commit).hasMessageContaining("ZooKeeper is away");
    assertThat(check.difference()).isNaN();
  }

  @Test
  void plansAndASwitchedOffCheckTrustTheClock() {
    ahead = 10_000;
    assertThat(check.second(WriteOptions.PLAN))
        .isEqualTo(Instant.ofEpochSecond((START + ahead) / 1000));
    ClockCheck off = ClockCheck.off(wall, this::nanos, this::write);
    assertThat(off.second(WriteOptions.COMMIT))
        .isEqualTo(Instant.ofEpochSecond((START + ahead) / 1000));
    assertThat(writes).isZero();
  }
}
