// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.Drain;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.History;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.drains.DrainOrder;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** How long the deltas of plans let buckets name former owners. */
class HistoriesTest {
  private static final int WINDOW = 240;
  private static final int STEP = WINDOW / 8;
  private static final long NOW = 1_700_000_010; // a multiple of STEP
  private static final int BACKENDS = 9;
  private static final WriteOptions FORCE = WriteOptions.COMMIT.with(WriteOptions.OnLoss.FORCE);

  private ServiceImage image =
      ServiceImage.create(
          ServiceRules.created(Requests.sized("web", "10.99.0.1", 256), 1, new Random(1)), NOW);

  private Delta delta;

  /** As every reader of the delta does. */
  private void commit(PoolPlan plan) throws Exception {
    Ring before = image.ring();
    byte[] bytes = DeltaCodec.encode(plan.delta(), before);
    delta = DeltaCodec.decodeDelta(bytes, before);
    assertThat(before.apply(delta)).isEqualTo(plan.after().ring());
    image = plan.after();
  }

  /** All buckets go to one backend. */
  private void only(int id, long now) throws Exception {
    List<Change> changes = new ArrayList<>();
    for (int each = 1; each <= BACKENDS; each++) {
      int weight = each == id ? 100 : 0;
      if (image.pool().isEmpty()) {
        changes.add(new Change.Add(each, "10.1.0." + each, weight));
      } else if (image.pool().containsKey(each)) {
        changes.add(weight(each, weight));
      }
    }
    commit(PoolPlan.of(image, changes, ofEpochSecond(now), FORCE));
  }

  private void movesNothing(long now) throws Exception {
    commit(PoolPlan.of(image, Runs.EMPTY, ofEpochSecond(now), false));
  }

  private String history() {
    History history = image.ring().history(77);
    StringBuilder owners = new StringBuilder();
    for (int i = 0; i < history.size(); i++) {
      owners.append(history.owner(i));
    }
    return owners.toString();
  }

  @Test
  void aFullHistoryReleasesItsOldestOwner() throws Exception {
    for (int id = 1; id <= 7; id++) {
      only(id, NOW + id);
      assertThat(delta.releases()).isEqualTo(Runs.EMPTY);
    }
    assertThat(history()).isEqualTo("654321");
    only(8, NOW + 8);
    assertThat(delta.releases()).hasToString("[ 0+256:1 ]");
    assertThat(history()).isEqualTo("765432");
    only(4, NOW + 9);
    assertThat(delta.releases()).as("one of them leaves it").isEqualTo(Runs.EMPTY);
    assertThat(history()).isEqualTo("876532");
    commit(
        PoolPlan.of(
            image,
            List.of(new Change.Remove(5, true), weight(9, 300)),
            ofEpochSecond(NOW + 10),
            FORCE));
    assertThat(delta.releases()).as("the dead one does").isEqualTo(Runs.EMPTY);
    assertThat(image.ring().history(0).size() + image.ring().history(255).size()).isEqualTo(11);
    only(1, NOW + 2 * WINDOW);
    assertThat(history()).as("all others close").hasSize(1);
  }

  /** Of a method whose packets name two buckets, a history has at most 2 entries. */
  @Test
  void aForcedMoveKeepsNoMoreOwnersThanTheMethodHasRoomFor() throws Exception {
    image = image.withConfig(image.config().toBuilder().steering(SteeringMethod.HUNT).build());
    for (int id = 1; id <= 7; id++) {
      only(id, NOW + id);
      for (int bucket = 0; bucket < 256; bucket++) {
        assertThat(image.ring().history(bucket).size()).isLessThanOrEqualTo(2);
      }
    }
    assertThat(history()).isEqualTo("65");
    only(5, NOW + 8);
    assertThat(history()).as("it comes back").isEqualTo("76");
  }

  /** From 1 to 2 and, as 2 drains, to 3: what is left at 2 breaks at the deadline, 1 lives. */
  @Test
  void aDrainThatEndsAtItsDeadlineTakesNoOtherOwner() throws Exception {
    image = image.withConfig(image.config().withHold(3600));
    only(1, NOW + 1);
    only(2, NOW + 2);
    commit(PoolPlan.of(image, List.of(weight(3, 100)), ofEpochSecond(NOW + 3), FORCE));
    DrainOrder order = new DrainOrder(List.of(2), Optional.of(600), Drain.Then.REMOVE);
    commit(PoolPlan.drain(image, order, ofEpochSecond(NOW + 10), FORCE));
    assertThat(history()).isEqualTo("21");
    Drain.End end = new Drain.End(Drain.Reason.DEADLINE, NOW + 610, Optional.of(5L));
    commit(PoolPlan.ended(image, new TreeMap<>(Map.of(2, end)), ofEpochSecond(NOW + 610), FORCE));
    assertThat(image.ring().backends().get(2).dead()).isTrue();
    assertThat(history()).isEqualTo("1");
  }

  @Test
  void ownersCloseInStepsAndExactlyWhereBackendsChange() throws Exception {
    assertThat(image.ring().closedUntil()).isEqualTo(NOW - WINDOW);
    only(1, NOW);
    only(2, NOW + 1);
    only(3, NOW + 2);
    movesNothing(NOW + WINDOW + 2);
    assertThat(delta.closedUntil()).isEqualTo(NOW);
    assertThat(history()).isEqualTo("21");
    commit(PoolPlan.of(image, List.of(add(10)), ofEpochSecond(NOW + WINDOW + 1), FORCE));
    assertThat(delta.closedUntil()).as("time never goes back").isEqualTo(NOW + 2);
    assertThat(image.ring().history(255).size()).isLessThanOrEqualTo(1);
    movesNothing(NOW + WINDOW + STEP);
    assertThat(delta.closedUntil()).isEqualTo(NOW + STEP);
  }

  @Test
  void heldOwnersAreReleasedAlone() throws Exception {
    image = image.withConfig(image.config().withHold(3600));
    only(1, NOW);
    only(2, NOW + 1);
    only(3, NOW + 2);
    movesNothing(NOW + 9000);
    assertThat(delta.closedUntil()).isZero();
    assertThat(history()).isEqualTo("21");
    commit(
        PoolPlan.releasing(
            image, new Runs.Builder().add(70, 10, 2).build(), ofEpochSecond(NOW + 9000)));
    assertThat(history()).isEqualTo("1");
    image = image.withConfig(image.config().withHold(0));
    commit(PoolPlan.closing(image, ofEpochSecond(NOW + 9000), false).orElseThrow());
    assertThat(history()).isEmpty();
    assertThat(PoolPlan.closing(image, ofEpochSecond(NOW + 9000), false)).isEmpty();
  }
}
