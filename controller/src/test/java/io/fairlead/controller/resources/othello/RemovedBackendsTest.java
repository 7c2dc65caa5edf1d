// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.ring.Address;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.core.ring.Delta;
import io.fairlead.controller.core.ring.Runs;
import io.fairlead.controller.core.steering.SteeringMethod;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Until when a backend counts that was removed although its server lives. */
class RemovedBackendsTest {
  private static final int WINDOW = 240;
  private static final long NOW = 1_700_000_000;

  private final RemovedBackends removed = new RemovedBackends();
  private ServiceImage image =
      ServiceImage.create(
          ServiceConfig.builder(1, "web")
              .buckets(256)
              .windowSeconds(WINDOW)
              .steering(SteeringMethod.OTHELLO)
              .build(),
          NOW);

  private static Backend backend(int id, boolean isRemoved) {
    return new Backend(
        id, Address.parse("10.1.0." + id).orElseThrow(), isRemoved ? 0 : 100, isRemoved);
  }

  /** Backend 2 is added with half of the buckets, or removed. */
  private void two(boolean isRemoved, long seconds) throws Exception {
    Runs moves = new Runs.Builder().add(128, 128, isRemoved ? 1 : 2).build();
    List<Backend> backends = List.of(backend(1, false), backend(2, isRemoved));
    image = image.withRing(image.ring().apply(Delta.after(image.ring(), seconds, backends, moves)));
  }

  @Test
  void itCountsForAWindow() throws Exception {
    two(false, NOW + 1);
    assertThat(removed.see(image, NOW + 1)).isEmpty();
    two(true, NOW + 10);
    assertThat(removed.see(image, NOW + 10)).containsExactly(2);
    assertThat(removed.see(image, NOW + 10 + WINDOW - 1)).containsExactly(2);
    assertThat(removed.see(image, NOW + 10 + WINDOW)).isEmpty();
  }

  @Test
  void theWindowIsThatOfTheLastRemovalAlsoIfNothingWasSeenInBetween() throws Exception {
    two(false, NOW + 1);
    two(true, NOW + 10);
    assertThat(removed.see(image, NOW + 10)).containsExactly(2);
    two(false, NOW + 100);
    two(true, NOW + 200);
    assertThat(removed.see(image, NOW + 10 + WINDOW)).containsExactly(2);
    assertThat(removed.see(image, NOW + 200 + WINDOW - 1)).containsExactly(2);
    assertThat(removed.see(image, NOW + 200 + WINDOW)).isEmpty();
  }
}
