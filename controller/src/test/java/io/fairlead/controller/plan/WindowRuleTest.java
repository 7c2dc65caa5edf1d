// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.plan;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.another;
import static io.fairlead.controller.Requests.remove;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.fairlead.controller.Requests;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceRules;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A longer window reopens no closed one. The service's is 240 s. */
class WindowRuleTest {
  private static final long MOVED = 1_700_000_000;

  /** Backend 2 takes half of backend 1's buckets at MOVED. */
  private static ServiceImage moved() {
    ServiceImage image =
        ServiceImage.create(
            ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)),
            MOVED - 9000);
    return after(after(image, MOVED - 8000, add(1)), MOVED, add(2));
  }

  private static ServiceImage after(ServiceImage image, long now, Change change) {
    return PoolPlan.of(image, List.of(change), Instant.ofEpochSecond(now), WriteOptions.COMMIT)
        .after();
  }

  @ParameterizedTest
  @CsvSource({
    "   0, 86400", // still open: it may stay open
    " 239, 86400",
    " 240,   240",
    " 300,    10",
    " 300,   300",
    " 600,   600",
    "9000,  9000",
  })
  void isAllowed(long age, int window) {
    assertThatCode(
            () -> ServiceRules.checkWindow(moved(), window, Instant.ofEpochSecond(MOVED + age)))
        .doesNotThrowAnyException();
  }

  @ParameterizedTest
  @CsvSource({
    " 240,   241, 'at most 240 now, or 241 in 1 s'",
    " 300,   600, 'at most 300 now, or 600 in 300 s'",
    "9000, 86400, 'at most 9000 now, or 86400 in 77400 s'",
  })
  void isRefused(long age, int window, String allowed) {
    Refusal refusal =
        catchThrowableOfType(
            Refusal.class,
            () -> ServiceRules.checkWindow(moved(), window, Instant.ofEpochSecond(MOVED + age)));
    assertThat(refusal.kind()).isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(refusal.field()).isEqualTo("windowSeconds");
    assertThat(refusal.value()).isEqualTo(Integer.toString(window));
    assertThat(refusal.allowed()).startsWith(allowed);
  }

  /** From backend 1 to none, then to backend 2: 1 is named, so its id stays reserved as well. */
  @Test
  void aPreviousOwnerThatIsKeptStaysReserved() {
    ServiceImage image =
        ServiceImage.create(
            ServiceRules.created(Requests.spec("web", "10.99.0.1"), 1, new Random(1)),
            MOVED - 9000);
    image = after(image, MOVED - 8000, add(1));
    image = after(image, MOVED, remove(1));
    ServiceImage kept = after(image, MOVED + 200, add(2));
    assertThat(kept.ring().previous(0)).isEqualTo(1);
    Refusal refusal =
        catchThrowableOfType(Refusal.class, () -> after(kept, MOVED + 230, another(1)));
    assertThat(refusal.allowed()).contains("in 10 s");
    assertThat(after(kept, MOVED + 230, add(1)).pool()).as("the same server").hasSize(2);
    assertThat(after(kept, MOVED + 240, another(1)).pool()).hasSize(2);
  }
}
