// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Backends whose machines are gone: who owns their buckets, and whom packets are chained to. */
class DeadTest {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;

  private ServiceImage image;
  private long now;
  private Result result;

  /** Backends 1, 2 and 4, which nothing has moved between for long. */
  @BeforeEach
  void begin() {
    now = NOW - 9000;
    image =
        ServiceImage.create(
            ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)), now);
    change(add(1), add(2), add(4));
    now = NOW;
  }

  private void change(Change... changes) {
    change(WriteOptions.COMMIT, changes);
  }

  private void change(WriteOptions options, Change... changes) {
    Ring before = image.ring();
    PoolPlan plan = PoolPlan.of(image, Arrays.asList(changes), ofEpochSecond(now), options);
    result = plan.result();
    image = plan.after();
    try {
      // As every reader of the delta does.
      byte[] bytes = DeltaCodec.encode(plan.delta(), before);
      assertThat(before.apply(DeltaCodec.decodeDelta(bytes, before))).isEqualTo(image.ring());
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static Change dead(int id) {
    return new Change.Remove(id, true);
  }

  private Refusal refused(Change... changes) {
    return catchThrowableOfType(Refusal.class, () -> change(changes));
  }

  private long naming(int previous) {
    Ring ring = image.ring();
    long count = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      count += ring.isMoved(bucket, now, WINDOW) && ring.previous(bucket) == previous ? 1 : 0;
    }
    return count;
  }

  /** Buckets of which neither the owner nor the previous one is the one that they had in before. */
  private long lostSince(Ring before) {
    Ring ring = image.ring();
    long lost = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      boolean isFound =
          ring.current(bucket) == before.current(bucket)
              || image.formerOwners(ofEpochSecond(now)).has(ring, bucket, before.current(bucket));
      lost += isFound ? 0 : 1;
    }
    return lost;
  }

  @Test
  void whatItTookALittleWhileAgoGoesBack() {
    Ring before = image.ring();
    change(add(3));
    assertThat(image.ring().owned()[3]).isEqualTo(256);
    now += 8;
    change(dead(3));
    assertThat(lostSince(before)).isZero();
    assertThat(image.ring().owned()).isEqualTo(before.owned());
    assertThat(naming(3)).isZero();
    assertThat(naming(1) + naming(2) + naming(4)).as("all are at home").isZero();
    assertThat(result.movedBuckets()).isEqualTo(256);
    assertThat(result.owners()).isEqualTo(Result.Owners.ALL_FOUND);
    assertThat(result.moved().moves()).allMatch(move -> move.from() == 3);
  }

  @Test
  void withoutDeadTheyAreChainedToIt() {
    Ring before = image.ring();
    change(add(3));
    now += 8;
    change(remove(3));
    assertThat(naming(3)).isEqualTo(256);
    // It turns out later that the machine is gone.
    now += 5;
    change(dead(3));
    assertThat(lostSince(before)).isZero();
    assertThat(naming(3)).isZero();
    assertThat(result.movedBuckets()).isZero();
    assertThat(result.owners().unchainedBuckets()).isEqualTo(256);
    assertThat(result.changed()).isTrue();
    assertThat(refused(dead(3)).allowed())
        .isEqualTo(
            "a backend of service 'web', or a removed one that packets are still chained to");
  }

  /** Where shares do not let a bucket go back, it is chained to its former owner. */
  @Test
  void whatCannotGoBackKeepsItsOwnerAsPrevious() {
    Ring before = image.ring();
    change(add(3));
    now += 8;
    change(dead(3), weight(1, 0));
    assertThat(image.ring().owned()[1]).isZero();
    assertThat(lostSince(before)).isZero();
    assertThat(naming(3)).isZero();
  }

  @Test
  void aDrainedOneThatDiesIsNoLongerChainedTo() {
    change(weight(4, 0));
    assertThat(naming(4)).isEqualTo(341);
    now += 30;
    PoolPlan plan = PoolPlan.of(image, List.of(dead(4)), ofEpochSecond(now), WriteOptions.PLAN);
    assertThat(plan.result().owners().unchainedBuckets()).isEqualTo(341);
    assertThat(plan.result().movedBuckets()).isZero();
    assertThat(plan.result().moved().moves()).isEmpty();
    change(dead(4));
    assertThat(naming(4)).isZero();
    assertThat(image.pool()).containsOnlyKeys(1, 2);
  }

  /** From 1 to 3 and on to 2; 3 dies: 2 asks 1. */
  @Test
  void aDeadOneInTheMiddleIsPassedBy() {
    change(add(3));
    now += 30;
    Ring between = image.ring();
    change(weight(3, 0));
    assertThat(naming(3)).isEqualTo(256);
    now += 5;
    change(dead(3));
    assertThat(naming(3)).isZero();
    Ring ring = image.ring();
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      if (between.current(bucket) == 3) {
        int home = between.previous(bucket);
        assertThat(ring.current(bucket) == home ? home : ring.previous(bucket)).isEqualTo(home);
      }
    }
  }

  @Test
  void itsIdAndAddressAreFreeAtOnce() {
    change(add(3));
    now += 8;
    change(remove(3));
    assertThat(refused(new Change.Add(3, "10.1.0.9", 100)).allowed())
        .contains("still chained to the removed backend 3");
    change(dead(3));
    change(add(3));
    now += 1000;
    change(dead(3), new Change.Add(5, "10.1.0.3", 100));
    assertThat(image.pool()).containsOnlyKeys(1, 2, 4, 5);
  }

  @Test
  void theWholePoolMayDie() {
    change(dead(1), dead(2), dead(4));
    assertThat(image.ring().owned()[0]).isEqualTo(1024);
    assertThat(naming(1) + naming(2) + naming(4)).isZero();
    now += 5;
    change(add(5));
    assertThat(image.ring().owned()[5]).isEqualTo(1024);
    assertThat(naming(1) + naming(2) + naming(4)).isZero();
  }

  @Test
  void aStrangerIsNotFound() {
    assertThat(refused(dead(9)).kind()).isEqualTo(Refusal.Kind.NOT_FOUND);
    now += 1000;
    change(dead(4));
    assertThat(refused(dead(4)).kind()).isEqualTo(Refusal.Kind.NOT_FOUND);
  }

  @ParameterizedTest
  @EnumSource(AssignmentMethod.class)
  void holdsWithEveryAssignment(AssignmentMethod method) {
    image = image.withConfig(image.config().toBuilder().assignment(method).build());
    change(add(5));
    now += 1000;
    Ring before = image.ring();
    change(add(3));
    now += 8;
    change(dead(3));
    assertThat(naming(3)).isZero();
    assertThat(image.ring().owned()[3]).isZero();
    assertThat(lostSince(before)).isZero();
    assertThat(result.owners().lostBuckets()).isZero();
  }
}
