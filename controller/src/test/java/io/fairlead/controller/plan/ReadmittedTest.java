// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.another;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Servers that are removed, and come back while packets are still chained to them. */
class ReadmittedTest {
  private static final long NOW = 1_700_000_000;
  private static final int WINDOW = 240;
  private static final int IDS = 6;

  /** One service, written to as a controller does, its deltas read as muxes do. */
  private static final class Service {
    private ServiceImage image =
        ServiceImage.create(
            ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)), NOW - 9000);

    void change(long now, WriteOptions options, Change... changes) throws Exception {
      Ring before = image.ring();
      PoolPlan plan = PoolPlan.of(image, List.of(changes), Instant.ofEpochSecond(now), options);
      image = plan.after();
      byte[] bytes = DeltaCodec.encode(plan.delta(), before);
      assertThat(before.apply(DeltaCodec.decodeDelta(bytes, before))).isEqualTo(image.ring());
    }

    Ring ring() {
      return image.ring();
    }
  }

  /** As if its weight had been 0 meanwhile: owners, former owners and the moves before. */
  @Test
  void isAsIfItHadHadWeight0() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int run = 0; run < 40; run++) {
      Service removed = new Service();
      Service drained = new Service();
      Set<Integer> in = new TreeSet<>();
      long now = NOW - 9000;
      List<Change> all = new ArrayList<>();
      for (int id = 1; id <= IDS; id++) {
        all.add(add(id));
        in.add(id);
      }
      removed.change(now, WriteOptions.COMMIT, all.toArray(Change[]::new));
      drained.change(now, WriteOptions.COMMIT, all.toArray(Change[]::new));
      now = NOW;
      for (int step = 0; step < 12; step++) {
        now += random.nextInt(90);
        int id = 1 + random.nextInt(IDS);
        boolean leaves = in.contains(id) && in.size() > 1;
        if (!leaves && in.contains(id)) {
          continue;
        }
        WriteOptions force = WriteOptions.COMMIT.with(WriteOptions.OnLoss.FORCE);
        removed.change(now, force, leaves ? remove(id) : add(id));
        drained.change(now, force, weight(id, leaves ? 0 : 100));
        if (leaves) {
          in.remove(id);
        } else {
          in.add(id);
        }
        same(
            removed.ring(),
            drained.ring(),
            now,
            "seed %d, run %d, step %d".formatted(seed, run, step));
      }
    }
  }

  private static void same(Ring a, Ring b, long now, String where) {
    for (int bucket = 0; bucket < a.buckets(); bucket++) {
      assertThat(a.current(bucket))
          .as("owner of %d, %s", bucket, where)
          .isEqualTo(b.current(bucket));
      boolean isMoved = a.isMoved(bucket, now, WINDOW);
      assertThat(isMoved)
          .as("%d moved, %s", bucket, where)
          .isEqualTo(b.isMoved(bucket, now, WINDOW));
      if (isMoved) {
        assertThat(a.previous(bucket))
            .as("former owner of %d, %s", bucket, where)
            .isEqualTo(b.previous(bucket));
        assertThat(a.since(bucket)).as(where).isEqualTo(b.since(bucket));
      }
    }
  }

  @Test
  void anotherMachineHasNeitherItsIdNorItsAddress() throws Exception {
    Service service = new Service();
    service.change(NOW - 9000, WriteOptions.COMMIT, add(1), add(2));
    service.change(NOW, WriteOptions.COMMIT, remove(2));
    Refusal id =
        catchThrowableOfType(
            Refusal.class, () -> service.change(NOW + 10, WriteOptions.COMMIT, another(2)));
    assertThat(id.field()).isEqualTo("id");
    assertThat(id.allowed())
        .isEqualTo(
            "this one in 230 s: packets are still chained to the removed backend 2; or its address"
                + " 10.1.0.2, by which it comes back");
    Change moved = new Change.Add(3, "10.1.0.2", 100);
    Refusal address =
        catchThrowableOfType(
            Refusal.class, () -> service.change(NOW + 10, WriteOptions.COMMIT, moved));
    assertThat(address.field()).isEqualTo("address");
    assertThat(address.allowed())
        .isEqualTo(
            "this one in 230 s: packets are still chained to the removed backend 2; or id 2, by"
                + " which it comes back");
    service.change(NOW + 10, WriteOptions.COMMIT, add(2));
    assertThat(service.ring().owned()[2]).isEqualTo(512);
  }
}
