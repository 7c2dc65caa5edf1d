// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.FORCE;
import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.resources.services.ServiceSpec;
import io.fairlead.controller.resources.services.ServiceSpecBuilder;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A shorter window, or hold, ends the chaining of buckets that have moved longer ago, and breaks
 * their older connections: only with consent. 512 buckets moved {@code age} seconds ago.
 */
class ShorterWindowTest extends EmbeddedController {
  private static final int MOVED = 512;
  private static final int WINDOW = 240;

  private void moved(int hold, long age, String port, boolean isStateless) throws Exception {
    ServiceSpecBuilder web = spec("web", "10.99.0.1").toBuilder().holdSeconds(hold);
    if (port.equals("udp")) {
      web.ports(List.of(new Port("tcp", 80), new Port("udp", 53))).statelessUdp(isStateless);
    }
    moved(web.build(), age);
  }

  private void moved(ServiceSpec web, long age) throws Exception {
    done(controller.services().createService(web, WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
    clock.set(clock.seconds() + 2 * WINDOW);
    Result added = done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT));
    assertThat(added.movedBuckets()).isEqualTo(MOVED);
    clock.set(clock.seconds() + age);
  }

  private static ServiceSpec settings(OptionalInt window, OptionalInt hold) {
    ServiceSpecBuilder change = ServiceSpec.builder();
    window.ifPresent(change::windowSeconds);
    hold.ifPresent(change::holdSeconds);
    return change.build();
  }

  /**
   * -1: is not changed. {@code left}: until the chains that become shorter end as they were
   * promised. With a port of UDP, datagrams are chained for the window, whatever the hold.
   */
  @ParameterizedTest
  @CsvSource({
    // hold, age, port, window, new hold, released, field, left
    "    0,  100, tcp,   10,       -1,   512, windowSeconds, 140",
    "    0,  100, tcp,  100,       -1,   512, windowSeconds, 140",
    "    0,    9, tcp,   10,       -1,     0, windowSeconds, 231", // they would end in a second
    "    0,    0, tcp,  239,       -1,     0, windowSeconds, 240",
    " 3600,  500, tcp,  100,      500,   512, windowSeconds, 3100",
    " 3600,  500, tcp,   10,      501,     0, windowSeconds, 3100",
    " 3600,  500, tcp,   -1,      500,   512, holdSeconds,   3100",
    " 3600,  500, tcp,   -1,        0,   512, holdSeconds,   3100",
    " 3600,   10, tcp,   -1,     3599,     0, holdSeconds,   3590",
    " 3600,  100, udp,   10,       -1,   512, windowSeconds, 140",
    " 3600,    9, udp,   10,       -1,     0, windowSeconds, 231",
    "    0,  100, udp,   10,     3600,   512, windowSeconds, 140",
    " 3600,  100, udp,   10,     3599,   512, windowSeconds, 3500",
    " 3600,  100, udp,   -1,     3599,     0, holdSeconds,   3500",
  })
  void isRefusedWithoutConsent(
      int hold,
      long age,
      String port,
      int window,
      int newHold,
      int released,
      String field,
      long left)
      throws Exception {
    moved(hold, age, port, false);
    ServiceSpec change = settings(given(window), given(newHold));
    long generation = Shown.service(controller, "web").orElseThrow().generation();
    Result.Hold planned =
        done(controller.services().changeService("web", change, WriteOptions.PLAN))
            .hold()
            .orElseThrow();
    assertThat(planned).isEqualTo(new Result.Hold(MOVED, MOVED, released));
    for (WriteOptions.OnLoss each :
        List.of(WriteOptions.OnLoss.REFUSE, WriteOptions.OnLoss.WAIT, WriteOptions.OnLoss.KEEP)) {
      Refusal refusal =
          refusal(
              controller.services().changeService("web", change, WriteOptions.COMMIT.with(each)));
      assertThat(refusal.kind()).isEqualTo(Refusal.Kind.CONFLICT);
      assertThat(refusal.field()).isEqualTo(field);
      assertThat(refusal.allowed())
          .startsWith("this in %d s".formatted(left))
          .contains("force=true: 512 buckets", ", %d of them no longer".formatted(released));
    }
    assertThat(Shown.config(controller, "web").windowSeconds()).isEqualTo(WINDOW);
    assertThat(Shown.service(controller, "web").orElseThrow().generation()).isEqualTo(generation);
    assertThat(done(controller.services().changeService("web", change, FORCE)).hold())
        .contains(planned);
  }

  @ParameterizedTest
  @CsvSource({
    // hold, age, port, stateless, window, new hold
    "    0,  240, tcp, false,   10,       -1", // no window is open
    "    0,    0, tcp, false,  240,     3600",
    " 3600,  500, tcp, false,   10,       -1", // the hold goes on
    " 3600,  500, tcp, false,  600,     3600",
    " 3600,  240, udp, false,   10,       -1", // datagrams are chained no more
    " 3600,  100, udp, true,    10,       -1",
    "    0,  100, udp, true,    10,     3600",
  })
  void isAllowedWhereNothingEndsEarlier(
      int hold, long age, String port, boolean isStateless, int window, int newHold)
      throws Exception {
    moved(hold, age, port, isStateless);
    ServiceSpec change = settings(given(window), given(newHold));
    Result result = done(controller.services().changeService("web", change, WriteOptions.COMMIT));
    assertThat(result.hold().map(Result.Hold::shortenedBuckets).orElse(0)).isZero();
    assertThat(Shown.config(controller, "web").windowSeconds()).isEqualTo(window);
  }

  /** By PUT too, together with a change of the pool. */
  @Test
  void aPutIsRefusedWhole() throws Exception {
    moved(0, 100, "tcp", false);
    ServiceSpec put = spec("web", "10.99.0.1").toBuilder().windowSeconds(10).build();
    Refusal refusal =
        refusal(
            controller
                .services()
                .putService(
                    put,
                    Optional.of(List.of(new Change.Add(3, "10.1.0.3", 100))),
                    WriteOptions.COMMIT));
    assertThat(refusal.field()).isEqualTo("windowSeconds");
    assertThat(Shown.backends(controller, "web")).hasSize(2);
  }

  private static OptionalInt given(int value) {
    return value < 0 ? OptionalInt.empty() : OptionalInt.of(value);
  }
}
