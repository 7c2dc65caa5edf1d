// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import static io.fairlead.controller.writer.Requests.FORCE;
import static io.fairlead.controller.writer.Requests.add;
import static io.fairlead.controller.writer.Requests.done;
import static io.fairlead.controller.writer.Requests.refusal;
import static io.fairlead.controller.writer.Requests.spec;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.backends.Change;
import io.fairlead.controller.plane.Refusal;
import io.fairlead.controller.plane.Result;
import io.fairlead.controller.plane.WriteOptions;
import io.fairlead.controller.services.ServiceSpec;
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

  private void moved(int hold, long age) throws Exception {
    ServiceSpec web = spec("web", "10.99.0.1").toBuilder().holdSeconds(hold).build();
    done(controller.services().createService(web, WriteOptions.COMMIT));
    done(controller.backends().change("web", List.of(add(1)), WriteOptions.COMMIT));
    clock.set(clock.seconds() + 2 * WINDOW);
    Result added = done(controller.backends().change("web", List.of(add(2)), WriteOptions.COMMIT));
    assertThat(added.movedBuckets()).isEqualTo(MOVED);
    clock.set(clock.seconds() + age);
  }

  private static ServiceSpec settings(OptionalInt window, OptionalInt hold) {
    ServiceSpec.Builder change = ServiceSpec.builder();
    window.ifPresent(change::windowSeconds);
    hold.ifPresent(change::holdSeconds);
    return change.build();
  }

  /** -1: is not changed. {@code left}: until the chains end as they were promised. */
  @ParameterizedTest
  @CsvSource({
    // hold, age, window, new hold, released, field, left
    "    0,  100,   10,       -1,   512, windowSeconds, 140",
    "    0,  100,  100,       -1,   512, windowSeconds, 140",
    "    0,    9,   10,       -1,     0, windowSeconds, 231", // they would end in a second
    "    0,    0,  239,       -1,     0, windowSeconds, 240",
    " 3600,  500,  100,      500,   512, windowSeconds, 3100",
    " 3600,  500,   10,      501,     0, windowSeconds, 3100",
    " 3600,  500,   -1,      500,   512, holdSeconds,   3100",
    " 3600,  500,   -1,        0,   512, holdSeconds,   3100",
    " 3600,   10,   -1,     3599,     0, holdSeconds,   3590",
  })
  void isRefusedWithoutConsent(
      int hold, long age, int window, int newHold, int released, String field, long left)
      throws Exception {
    moved(hold, age);
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
    // hold, age, window, new hold
    "    0,  240,   10,       -1", // no window is open
    "    0,    0,  240,     3600",
    " 3600,  500,   10,       -1", // the hold goes on
    " 3600,  500,  600,     3600",
  })
  void isAllowedWhereNothingEndsEarlier(int hold, long age, int window, int newHold)
      throws Exception {
    moved(hold, age);
    ServiceSpec change = settings(given(window), given(newHold));
    Result result = done(controller.services().changeService("web", change, WriteOptions.COMMIT));
    assertThat(result.hold().map(Result.Hold::shortenedBuckets).orElse(0)).isZero();
    assertThat(Shown.config(controller, "web").windowSeconds()).isEqualTo(window);
  }

  /** By PUT too, together with a change of the pool. */
  @Test
  void aPutIsRefusedWhole() throws Exception {
    moved(0, 100);
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
