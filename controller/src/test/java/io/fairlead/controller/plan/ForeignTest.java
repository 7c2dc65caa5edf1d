// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.weight;
import static java.time.Instant.ofEpochSecond;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.assign.Rebalance;
import io.fairlead.controller.core.assign.Upkeep;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.backends.PoolRules;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** SRv6 end-points that do not know the protocol: packets to them name no other server. */
class ForeignTest {
  private static final long NOW = 1_700_000_000;
  private static final Change FOREIGN =
      new Change.Add(9, "2001:db8::9", 100, Optional.empty(), true);

  private ServiceImage image = image("srv6");

  private static ServiceImage image(String encap) {
    ServiceImage empty =
        ServiceImage.create(
            ServiceRules.created(
                Requests.sized("web", "10.99.0.1", 256).toBuilder().encap(encap).build(),
                1,
                new Random(1)),
            NOW);
    List<Change> pool = List.of(backend(1), backend(2));
    return PoolPlan.of(empty, pool, ofEpochSecond(NOW), WriteOptions.COMMIT).after();
  }

  private static Change.Add backend(int id) {
    return new Change.Add(id, "2001:db8::" + id, 100);
  }

  /** As every reader of the delta does. */
  private PoolPlan commit(WriteOptions options, Change... changes) throws Exception {
    PoolPlan plan = PoolPlan.of(image, List.of(changes), ofEpochSecond(NOW + 10), options);
    Ring before = image.ring();
    byte[] delta = DeltaCodec.encode(plan.delta(), before);
    assertThat(before.apply(DeltaCodec.decodeDelta(delta, before))).isEqualTo(plan.after().ring());
    byte[] snapshot = DeltaCodec.encode(plan.after().ring());
    Ring next = plan.after().ring();
    assertThat(DeltaCodec.decodeSnapshot(snapshot, 1, next.generation(), next.buckets()))
        .isEqualTo(next);
    image = plan.after();
    return plan;
  }

  @Test
  void itTakesBucketsOfOthersByConsentAlone() throws Exception {
    assertThatThrownBy(() -> commit(WriteOptions.COMMIT, FOREIGN))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining(
            "85 buckets (0-42, 128-169) lose their owners by moving to a foreign end-point");
    assertThat(commit(Requests.FORCE, FOREIGN).result().owners().lostBuckets()).isEqualTo(85);
    assertThat(image.ring().owned()[9]).isEqualTo(85);
    assertThat(image.ring().backends().get(9).foreign()).isTrue();
    assertThat(BackendView.of(image, List.of()))
        .extracting(BackendView::foreign)
        .containsExactly(false, false, true);
    commit(WriteOptions.COMMIT, weight(9, 0));
    assertThat(image.ring().owned()[9]).as("others take what it has").isZero();
    assertThat(image.ring().backends().get(9)).extracting(Backend::foreign).isEqualTo(true);
    commit(WriteOptions.COMMIT, new Change.Remove(9));
    assertThat(image.ring().backends().get(9).foreign()).as("as histories name it").isTrue();
  }

  @Test
  void noStepMovesABucketToIt() throws Exception {
    commit(Requests.FORCE, new Change.Add(9, "2001:db8::9", 1, Optional.empty(), true));
    int[] weights = new int[Backend.MAX + 1];
    weights[9] = 1;
    assertThat(
            new Rebalance()
                .step(
                    image.ring(),
                    weights,
                    new Upkeep.Limits(1, 1000),
                    image.formerOwners(ofEpochSecond(NOW + 1000)))
                .runs()
                .buckets())
        .isZero();
  }

  @Test
  void onlyWithSrv6AndForGood() {
    for (String encap : List.of("gue", "ipip")) {
      ServiceImage other =
          ServiceImage.create(
              ServiceRules.created(
                  Requests.sized("web", "10.99.0.1", 256).toBuilder().encap(encap).build(),
                  1,
                  new Random(1)),
              NOW);
      Change add = new Change.Add(9, "10.1.0.9", 100, Optional.empty(), true);
      assertThatThrownBy(
              () -> PoolPlan.of(other, List.of(add), ofEpochSecond(NOW), WriteOptions.COMMIT))
          .hasMessage(
              "foreign 'true' is refused; allowed: false with encap %s; true with srv6", encap);
    }
    Change.Add same = new Change.Add(1, "2001:db8::1", 100, Optional.empty(), true);
    assertThatThrownBy(() -> PoolRules.difference(image.pool(), List.of(same, backend(2))))
        .hasMessage(
            "foreign 'true' is refused; allowed: false, as the live backend 1 is; or another id");
  }
}
