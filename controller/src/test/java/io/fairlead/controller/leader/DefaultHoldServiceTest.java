// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.remove;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A service that is created without a hold, on a real ZooKeeper. */
class DefaultHoldServiceTest extends EmbeddedController {
  private static final WriteOptions COMMIT = WriteOptions.COMMIT;
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final Duration SOME_POLLS = Duration.ofMillis(1500);
  private static final int WINDOW = 240;

  private final Reports reports = new Reports();

  @BeforeEach
  void fill() throws Exception {
    done(controller.services().createService(spec("web", "10.99.0.1"), COMMIT));
    done(controller.backends().change("web", List.of(add(1), add(2)), COMMIT));
    clock.set(clock.seconds() + 1000);
  }

  private ServiceConfig config() {
    return controller.plane().read("web", service -> service.image().config());
  }

  private Ring ring() {
    return controller.plane().read("web", service -> service.image().ring());
  }

  /** The agents of these backends report that they have a connection each. */
  private void report(int... backends) {
    for (int backend : backends) {
      reports.from(controller, backend, Reports.web(1, Optional.empty(), Optional.empty()));
    }
  }

  /** Agents go on reporting, and time passes, until the service has this hold. */
  private void untilHeld(int seconds, int... backends) {
    await()
        .atMost(SOON)
        .until(
            () -> {
              report(backends);
              clock.set(clock.seconds() + 1);
              return config().holdSeconds() == seconds;
            });
  }

  @Test
  void aHoldBeginsWhenAllAgentsReportAndOutlivesTheirSilence() throws Exception {
    long generation = ring().generation();
    assertThat(ring().closedUntil()).isPositive();
    await()
        .during(SOME_POLLS)
        .atMost(SOON)
        .until(
            () -> {
              report(1);
              clock.set(clock.seconds() + 5);
              return config().holdSeconds() == 0;
            });
    assertThat(ring().generation()).isEqualTo(generation);
    untilHeld(ServiceConfig.HOLD_DEFAULT_SECONDS, 1, 2);
    assertThat(config().holdByDefault()).isTrue();
    assertThat(ring().closedUntil()).as("muxes see that it holds").isZero();
    assertThat(ring().generation()).isEqualTo(generation + 1);
    assertThat(controller.audit().page(OptionalLong.empty(), 1).entries().get(0).entry())
        .satisfies(
            entry -> {
              assertThat(entry.who()).isEqualTo("controller");
              assertThat(entry.what()).startsWith("hold of web by default");
            });
    done(controller.backends().change("web", List.of(remove(2)), COMMIT));
    clock.set(clock.seconds() + 20 * WINDOW);
    await().during(SOME_POLLS).atMost(SOON).until(() -> ring().previous(1023) == 2);
    assertThat(config().holdSeconds()).isEqualTo(ServiceConfig.HOLD_DEFAULT_SECONDS);
    clock.set(clock.seconds() + ServiceConfig.HOLD_DEFAULT_SECONDS);
    await().atMost(SOON).until(() -> ring().previous(1023) == 0);
    await()
        .atMost(SOON)
        .until(
            () -> {
              clock.set(clock.seconds() + ServiceConfig.HOLD_DEFAULT_SECONDS);
              return config().holdSeconds() == 0;
            });
    assertThat(ring().closedUntil()).as("muxes see that windows end").isPositive();
  }

  @Test
  void whatIsSetCountsAndAFileWithoutItSetsTheDefaultAgain() throws Exception {
    ServiceSpec none = ServiceSpec.builder().holdSeconds(0).build();
    done(controller.services().changeService("web", none, COMMIT));
    assertThat(config().holdByDefault()).isFalse();
    await()
        .during(SOME_POLLS)
        .atMost(SOON)
        .until(
            () -> {
              report(1, 2);
              clock.set(clock.seconds() + 5);
              return config().holdSeconds() == 0;
            });
    ServiceSpec file = spec("web", "10.99.0.1");
    done(controller.services().putService(file, Optional.empty(), COMMIT));
    assertThat(config().holdByDefault()).isTrue();
    untilHeld(ServiceConfig.HOLD_DEFAULT_SECONDS, 1, 2);
    long generation = ring().generation();
    assertThat(done(controller.services().putService(file, Optional.empty(), COMMIT)).changed())
        .as("it is as in the file")
        .isFalse();
    ServiceSpec hour = ServiceSpec.builder().holdSeconds(3600).build();
    done(controller.services().changeService("web", hour, COMMIT));
    assertThat(config().holdSeconds()).isEqualTo(3600);
    assertThat(config().holdByDefault()).isFalse();
    done(controller.services().putService(file, Optional.empty(), COMMIT));
    assertThat(config().holdByDefault()).isTrue();
    untilHeld(ServiceConfig.HOLD_DEFAULT_SECONDS, 1, 2);
    assertThat(ring().generation()).as("it held all the time").isEqualTo(generation);
  }
}
