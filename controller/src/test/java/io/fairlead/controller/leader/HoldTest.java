// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.another;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.service.ReleaseWork;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Buckets that are held beyond their window and released at the limit, on a real ZooKeeper. */
class HoldTest extends EmbeddedController {
  private static final WriteOptions COMMIT = WriteOptions.COMMIT;
  private static final WriteOptions PLAN = WriteOptions.PLAN;
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final int WINDOW = 240;
  private static final int HOLD = 3600;

  /** Long enough for the controller to check several times whether a release is due. */
  private static final Duration SOME_POLLS = Duration.ofMillis(1500);

  /** Backends 1 and 2 with 512 buckets each, which they took at NOW. */
  @BeforeEach
  void fill() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), COMMIT));
    change(add(1), add(2));
  }

  private Result change(Change... changes) throws Exception {
    return done(controller.backends().change("web", List.of(changes), COMMIT));
  }

  private Result hold(int seconds, WriteOptions options) throws Exception {
    ServiceSpec change = ServiceSpec.builder().holdSeconds(seconds).build();
    return done(controller.services().changeService("web", change, options));
  }

  private Ring ring() {
    return controller.plane().read("web", service -> service.image().ring());
  }

  private long named() {
    Ring ring = ring();
    long named = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      named += ring.previous(bucket) > 0 ? 1 : 0;
    }
    return named;
  }

  private void advance(long seconds) {
    clock.set(clock.seconds() + seconds);
  }

  private double released() {
    return controller
        .metrics()
        .counter("fairlead.controller.released.buckets", "service", "web", "reason", "limit")
        .count();
  }

  private int records() {
    return controller.audit().page(OptionalLong.empty(), 100).entries().size();
  }

  @Test
  void aHeldBucketIsReleasedAtTheLimitAndNotBefore() throws Exception {
    hold(HOLD, COMMIT);
    advance(1000);
    int moved = change(add(3)).movedBuckets();
    assertThat(moved).isEqualTo(341);
    Ring before = ring();
    int records = records();
    advance(HOLD - 1);
    await().during(SOME_POLLS).atMost(SOON).until(() -> named() == moved);
    advance(ReleaseWork.EVERY.toSeconds());
    await().atMost(SOON).until(() -> named() == 0);
    Ring after = ring();
    assertThat(after.generation()).isEqualTo(before.generation() + 1);
    for (int bucket = 0; bucket < after.buckets(); bucket++) {
      assertThat(after.current(bucket)).isEqualTo(before.current(bucket));
      assertThat(after.since(bucket)).isZero();
    }
    assertThat(released()).isEqualTo(moved);
    assertThat(records()).as("no client asked for it").isEqualTo(records);
  }

  @Test
  void withoutAHoldNothingIsReleased() throws Exception {
    advance(1000);
    int moved = change(add(3)).movedBuckets();
    advance(100_000);
    await().during(SOME_POLLS).atMost(SOON).until(() -> named() == moved);
  }

  /** Two moves, one second apart: the second release waits until five seconds have passed. */
  @Test
  void releasesAreSecondsApart() throws Exception {
    hold(HOLD, COMMIT);
    advance(1000);
    int first = change(add(3)).movedBuckets();
    advance(1);
    int second = change(add(4)).movedBuckets();
    advance(HOLD - 1);
    await().atMost(SOON).until(() -> named() == second);
    assertThat(first).isPositive();
    advance(1);
    await().during(SOME_POLLS).atMost(SOON).until(() -> named() == second);
    advance(4);
    await().atMost(SOON).until(() -> named() == 0);
  }

  @Test
  void aHoldBeginsWithoutRowsWhoseWindowIsClosed() throws Exception {
    advance(1000);
    int ancient = change(add(3)).movedBuckets();
    advance(WINDOW - 10);
    int open = change(add(4)).movedBuckets();
    advance(10);
    assertThat(named()).isBetween((long) ancient, (long) ancient + open);
    long generation = ring().generation();
    Result plan = hold(HOLD, PLAN);
    assertThat(plan.hold()).contains(new Result.Hold(open, 0, 0));
    assertThat(plan.generation()).isEqualTo(generation + 2);
    assertThat(ring().generation()).isEqualTo(generation);
    int records = records();
    Result result = hold(HOLD, COMMIT);
    assertThat(result).usingRecursiveComparison().ignoringFields("dryRun").isEqualTo(plan);
    assertThat(ring().generation()).isEqualTo(generation + 2);
    assertThat(ring().closedUntil()).as("muxes see that it holds").isZero();
    assertThat(named()).isEqualTo(open);
    assertThat(records()).as("one write").isEqualTo(records + 1);
    advance(WINDOW);
    assertThat(named()).isEqualTo(open);
  }

  @Test
  void aServiceInAFileBeginsToHoldWithAChangeOfItsPool() throws Exception {
    advance(1000);
    change(add(3));
    advance(WINDOW);
    long generation = ring().generation();
    ServiceSpec wanted = spec("web", "10.99.0.1").toBuilder().holdSeconds(HOLD).build();
    List<Change.Add> pool =
        List.of((Change.Add) add(1), (Change.Add) add(2), (Change.Add) add(3), (Change.Add) add(4));
    Result result = done(controller.services().putService(wanted, Optional.of(pool), COMMIT));
    assertThat(result.generation()).isEqualTo(generation + 2);
    assertThat(result.hold()).contains(new Result.Hold(0, 0, 0));
    assertThat(ring().generation()).isEqualTo(generation + 2);
    assertThat(named()).isEqualTo(result.movedBuckets());
    assertThat(result.movedBuckets()).isEqualTo(256);
  }

  @Test
  void aLowerLimitReleasesWhatIsOverIt() throws Exception {
    hold(HOLD, COMMIT);
    advance(1000);
    int first = change(add(3)).movedBuckets();
    advance(600);
    int young = change(add(4)).movedBuckets();
    int old = (int) named() - young; // without those that 3 gave to 4
    assertThat(old).isPositive();
    assertThat(hold(HOLD * 2, PLAN).hold()).contains(new Result.Hold(old + young, 0, 0));
    assertThat(hold(500, PLAN).hold())
        .as("also those that 3 gave to 4 name an owner from before")
        .contains(new Result.Hold(old + young, old + young, first));
    hold(500, Requests.FORCE);
    await().atMost(SOON).until(() -> named() == young);
    assertThat(hold(0, Requests.FORCE).hold()).contains(new Result.Hold(young, young, 0));
    assertThat(ring().closedUntil()).as("muxes see that windows end").isPositive();
    advance(WINDOW);
    assertThat(named()).as("until the next generation").isEqualTo(young);
  }

  @Test
  void idsAndAddressesStayReserved() throws Exception {
    hold(HOLD, COMMIT);
    advance(1000);
    change(remove(2));
    advance(WINDOW);
    Refusal id = refusal(controller.backends().change("web", List.of(another(2)), COMMIT));
    assertThat(id.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(id.allowed())
        .isEqualTo(
            "this one in %d s at most: packets are still chained to the removed backend 2; or its address 10.1.0.2, by which it comes back"
                .formatted(HOLD - WINDOW));
    Change.Add sameAddress = new Change.Add(9, "10.1.0.2", 100);
    assertThat(refusal(controller.backends().change("web", List.of(sameAddress), COMMIT)).field())
        .isEqualTo("address");
    Refusal vip = refusal(controller.services().createService(spec("dns", "10.1.0.2"), COMMIT));
    assertThat(vip.allowed()).startsWith("this one in %d s at most:".formatted(HOLD - WINDOW));
    close();
    open();
    assertThat(refusal(controller.backends().change("web", List.of(another(2)), COMMIT)).allowed())
        .as("the next leader")
        .startsWith("this one in");
    advance(HOLD - WINDOW);
    await().atMost(SOON).until(() -> named() == 0);
    change(add(2));
  }

  /** From 2 to 3 and on to 1: both are named. */
  @Test
  void anOwnerBeforeThePreviousOneStaysReserved() throws Exception {
    hold(HOLD, COMMIT);
    advance(1000);
    change(remove(2), add(3));
    advance(WINDOW);
    change(remove(3));
    advance(WINDOW);
    assertThat(refusal(controller.backends().change("web", List.of(another(2)), COMMIT)).allowed())
        .startsWith("this one in %d s at most".formatted(HOLD - 2 * WINDOW));
    Change dead = new Change.Remove(2, true);
    assertThat(change(dead).changed()).isTrue();
    close();
    open();
    assertThat(change(add(2)).changed()).as("also by the next leader").isTrue();
  }

  @Test
  void theDeadAreNotHeld() throws Exception {
    hold(HOLD, COMMIT);
    advance(1000);
    change(remove(2));
    advance(WINDOW);
    assertThat(named()).isEqualTo(512);
    Result result = change(new Change.Remove(2, true));
    assertThat(result.owners().unchainedBuckets()).isEqualTo(512);
    assertThat(named()).isZero();
  }
}
