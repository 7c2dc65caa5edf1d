// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.resources.muxes.SettledMoves;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Waits are seconds of a monotonic clock; who reads them gets the time of day. */
class ReportWaitTest {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder().addModule(new Jdk8Module()).build();

  private static String json(Optional<String> mux, OptionalLong left) throws Exception {
    return MAPPER.writeValueAsString(
        HoldView.ReportWait.of(
            new SettledMoves.Wait(mux, "waits", left), Instant.ofEpochSecond(1_700_000_000)));
  }

  @Test
  void theEndIsAtATimeOrUnknown() throws Exception {
    assertThat(json(Optional.empty(), OptionalLong.of(70)))
        .isEqualTo("{\"why\":\"waits\",\"until\":1700000070}");
    assertThat(json(Optional.of("mux2"), OptionalLong.empty()))
        .isEqualTo("{\"mux\":\"mux2\",\"why\":\"waits\"}");
  }
}
