// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What services claim of addresses before they commit it. */
class ClaimsTest {
  @Test
  void aClaimCountsUntilItIsSettled() {
    ServiceImage web = image("web", "10.99.0.1");
    ServiceImage pool =
        PoolPlan.of(
                web,
                List.of(new Change.Add(1, "10.1.0.1", 100)),
                Instant.ofEpochSecond(1_700_000_000),
                WriteOptions.COMMIT)
            .after();
    ServiceImage vip = image("dns", "10.1.0.1");
    VipGuard guard = VipGuard.none();
    Addresses addresses = new Addresses(() -> List.of(web), guard);
    addresses.claim(web, pool, Instant.EPOCH, true);
    addresses.check(vip, guard.settings(), Instant.EPOCH);
    addresses.claim(web, pool, Instant.EPOCH, false);
    assertThatThrownBy(() -> addresses.claim(vip, guard.settings(), Instant.EPOCH))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining("backend 1 of 'web'");
    addresses.settle("web");
    addresses.claim(vip, guard.settings(), Instant.EPOCH);
    assertThatThrownBy(() -> addresses.claim(web, pool, Instant.EPOCH, false))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining("one of 'dns'");
    assertThat(Addresses.shared(List.of(pool, vip)))
        .containsExactly("10.1.0.1 is a VIP of 'dns' and backend 1 of 'web'");
    assertThat(Addresses.shared(List.of(web, vip))).isEmpty();
  }

  private static ServiceImage image(String name, String vip) {
    return ServiceImage.create(
        ServiceRules.created(spec(name, vip), 1, new Random(1)), 1_700_000_000);
  }
}
