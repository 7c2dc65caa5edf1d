// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Unhealthy;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.plane.WriteOptions.OnLoss;
import io.fairlead.controller.resources.services.ServiceRules;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Backends that health removes as dead, and has in the pool again. */
class GoneTest {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;

  private ServiceImage image;
  private long now;
  private PoolPlan plan;

  @BeforeEach
  void begin() {
    now = NOW - 9000;
    image =
        ServiceImage.create(
            ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)), now);
    change(add(1), add(2), add(3), add(4));
    now = NOW;
  }

  private void change(Change... changes) {
    image =
        PoolPlan.of(image, Arrays.asList(changes), ofEpochSecond(now), WriteOptions.COMMIT).after();
  }

  private void order(
      List<Integer> out, List<Integer> back, List<Integer> dead, List<Integer> again) {
    TreeMap<Integer, String> reasons = new TreeMap<>();
    out.forEach(id -> reasons.put(id, "timeout"));
    OutageRules.Order order =
        new OutageRules.Order(
            reasons, new TreeSet<>(back), new TreeSet<>(dead), new TreeSet<>(again));
    plan =
        PoolPlan.health(
            image, order.on(image), ofEpochSecond(now), WriteOptions.COMMIT.with(OnLoss.KEEP));
    image = plan.after();
  }

  private void out(Integer... ids) {
    order(List.of(ids), List.of(), List.of(), List.of());
  }

  private void dead(Integer... ids) {
    order(List.of(), List.of(), List.of(ids), List.of());
  }

  private void again(Integer... ids) {
    order(List.of(), List.of(), List.of(), List.of(ids));
  }

  private Unhealthy health() {
    return image.transitions().health();
  }

  private long naming(int id) {
    Ring ring = image.ring();
    long count = 0;
    for (int bucket = 0; bucket < ring.buckets(); bucket++) {
      boolean isNamed = ring.isMoved(bucket, now, WINDOW) && ring.previous(bucket) == id;
      count += ring.current(bucket) == id || isNamed ? 1 : 0;
    }
    return count;
  }

  @Test
  void itsBucketsLetGoOfItAsByRemoveDead() {
    change(weight(2, 70));
    out(2);
    assertThat(naming(2)).isPositive();
    now += 40;
    dead(2);
    assertThat(naming(2)).isZero();
    assertThat(plan.delta().backends()).singleElement().matches(Backend::dead);
    assertThat(image.pool()).containsOnlyKeys(1, 3, 4);
    assertThat(health().out()).isEmpty();
    now += 30;
    again(2);
    assertThat(image.pool().get(2).weight()).isZero();
    assertThat(image.wanted().get(2).weight()).isEqualTo(70);
    assertThat(health().gone()).isEmpty();
    assertThat(health().out().get(2).dead()).contains(NOW + 40);
    assertThat(health().out().get(2).since()).isEqualTo(NOW);
    assertThat(naming(2)).isZero();
    order(List.of(), List.of(2), List.of(), List.of());
    assertThat(image.pool().get(2).weight()).isEqualTo(70);
    assertThat(image.ring().owned()[2]).isPositive();
    out(2);
    assertThat(health().out().get(2).dead()).as("of this outage").isEmpty();
  }

  @Test
  void onlyWhatIsOutAndNotHeldDies() {
    dead(2);
    assertThat(image.pool()).containsKey(2);
    out(2);
    image = image.withTransitions(image.transitions().with(health().held(2, ofEpochSecond(now))));
    dead(2);
    assertThat(image.pool()).containsKey(2);
  }

  /** An operator is faster: the id, or the address, is another's. */
  @Test
  void whatIsTakenDoesNotComeAgain() {
    out(2);
    out(3);
    dead(2, 3);
    assertThat(health().gone().keySet()).isEqualTo(Set.of(2, 3));
    change(new Change.Add(2, "10.1.0.77", 50), new Change.Add(9, "10.1.0.3", 50));
    assertThat(health().gone()).isEmpty();
    again(2, 3);
    assertThat(image.pool()).containsOnlyKeys(1, 2, 4, 9);
    assertThat(image.pool().get(2).weight()).isEqualTo(50);
  }

  @Test
  void whileAnotherGoesOutAndAThirdReturns() {
    out(2, 3);
    dead(2);
    now += 30;
    order(List.of(4), List.of(3), List.of(), List.of(2));
    assertThat(image.pool().get(2).weight()).isZero();
    assertThat(image.pool().get(3).weight()).isEqualTo(100);
    assertThat(image.pool().get(4).weight()).isZero();
    assertThat(naming(2)).isZero();
  }
}
