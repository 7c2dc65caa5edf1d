// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.Drain.Then;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of a drain while it runs, and when it has ended. */
class DrainNotesTest extends DrainStory {
  private static final String UNCOUNTED = "no connection left by a report that did not count yet";

  /**
   * An empty backend whose agent reports each second: what is said of it until it ends, and how.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        // protocol, window, hold, deadline | after | note then | end after | end
        "tcp | 240 |    0 |    - | 199 | a SYN cookie may still come back, for 1 s | 200 | empty",
        "tcp | 240 |    0 |  180 | 179 | a SYN cookie may still come back, for 21 s | 180 |"
            + " deadline",
        "tcp |  60 |    0 |    - |  59 | some mux may be absent that this controller never saw,"
            + " for 11 s | 60 | expired",
        "udp | 240 |    0 |    - | 239 | no agent counts datagrams%s have the window, for 71 s |"
            + " 240 | expired",
        "udp | 240 |    0 |  600 | 239 | no agent counts datagrams%s have the window, for 71 s |"
            + " 240 | expired",
        "udp | 240 | 3600 |    - | 309 | no agent counts datagrams%s have the window, for 1 s | 310"
            + " | empty",
      })
  void itSaysWhatItWaitsForAndEndsSo(
      String protocol,
      int window,
      int hold,
      Integer deadline,
      int after,
      String wait,
      int until,
      String reason) {
    image =
        image(
            spec().ports(List.of(new Port(protocol, 53))).windowSeconds(window).holdSeconds(hold));
    connections.put(2, 0L);
    drain(Optional.ofNullable(deadline), Then.KEEP, 2);
    for (; now < NOW + after; now++) {
      report();
      assertThat(work()).isEmpty();
    }
    report();
    assertThat(work()).isEmpty();
    String expires =
        hold > 0
            ? "; ends as expired once no bucket names it"
            : "; ends as expired at " + Instant.ofEpochSecond(NOW + window);
    assertThat(view(2).now().note())
        .isEqualTo(
            "its reports do not count yet: %s%s"
                .formatted(
                    wait.formatted(", and those under way"),
                    deadline != null && deadline < window ? "" : expires));
    while (now < NOW + until - 1) {
      now++;
      report();
      assertThat(work()).isEmpty();
    }
    now++;
    report();
    String how =
        reason.equals("empty")
            ? "empty, no connection left"
            : "%s, %s".formatted(reason, UNCOUNTED);
    assertThat(work()).isEqualTo("end of drain of web: backend 2 (%s)".formatted(how));
    assertThat(view(2).now().note()).isEqualTo("ended: " + how);
  }

  @Test
  void waitsForAMuxThatMayBeAbsentUnknown() {
    drainEmpty(mux("mux1", 3));
    waitsOn(SETTLED - 1);
    assertThat(view(2).now().waitingFor()).isEmpty();
    assertThat(view(2).now().note())
        .isEqualTo(
            "its reports do not count yet:"
                + " some mux may be absent that this controller never saw, for 1 s; "
                + EXPIRES);
    waitsOn(1);
    assertThat(view(2).now().note())
        .isEqualTo(
            "its reports do not count yet: a SYN cookie may still come back, for 130 s; "
                + EXPIRES);
    now += WAIT - 1;
    report();
    assertThat(work()).as("a SYN cookie may come back").isEmpty();
    assertThat(view(2).now().note())
        .startsWith("its reports do not count yet: a SYN cookie may still come back, for 1 s");
    now += 1;
    assertThat(work()).as("the report is older").isEmpty();
    assertThat(view(2).now().note()).isEqualTo("empty: about to end");
    report();
    assertThat(work()).contains("backend 2 (empty, no connection left)");
  }

  @Test
  void rateAndEstimateAreOfTheLastMinute() {
    connections.put(2, 1000L);
    report();
    drain(Optional.empty(), Then.KEEP, 2);
    assertThat(view(2).now().rate()).isEmpty();
    for (long left = 1000; left > 500; left -= 5) {
      connections.put(2, left);
      report();
      assertThat(work()).isEmpty();
      now += 1;
    }
    assertThat(view(2).now().connections()).contains(505L);
    assertThat(view(2).now().rate()).contains(5.0);
    assertThat(view(2).now().secondsLeft()).contains(101L);
  }
}
