// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of backends that muxes can't send to. */
class UnreachableTest {
  private static final String NEIGHBOUR =
      "no_neighbour: no route, or no answer to ARP or neighbour discovery";

  private static MuxView mux(String id, Map<String, String> unreachable) {
    return new MuxView(
        id,
        "c",
        "0.1.0",
        Optional.of("10.1.0.11"),
        Optional.empty(),
        List.of("eth0"),
        Optional.empty(),
        Map.of(),
        unreachable,
        0,
        Map.of(),
        Optional.empty());
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1, packets to 10.3.0.9 are dropped by the only mux",
    "3, 1, packets to 10.3.0.9 are dropped by mux mux0",
    "3, 2, 'packets to 10.3.0.9 are dropped by muxes mux0, mux1'",
    "3, 3, packets to 10.3.0.9 are dropped by all 3 muxes",
    "12, 10, 'packets to 10.3.0.9 are dropped by muxes mux0, mux1, mux2, mux3, mux4, mux5, mux6,"
        + " mux7 and 2 more'",
  })
  void saysWhichMuxes(int all, int unable, String warning) {
    List<MuxView> muxes =
        IntStream.range(0, all)
            .mapToObj(
                i -> mux("mux" + i, i < unable ? Map.of("10.3.0.9", "no_neighbour") : Map.of()))
            .toList();
    assertThat(Unreachable.warnings(List.of("10.3.0.8", "10.3.0.9"), muxes))
        .containsExactly("%s (%s)".formatted(warning, NEIGHBOUR));
  }

  @Test
  void oneWarningNamesAllBackendsOfOneReason() {
    List<MuxView> muxes =
        List.of(
            mux(
                "mux1",
                Map.of(
                    "10.3.0.1", "no_neighbour",
                    "10.3.0.2", "no_neighbour",
                    "10.99.0.1", "loop",
                    "10.3.0.3", "some_new_word")));
    assertThat(
            Unreachable.warnings(List.of("10.3.0.1", "10.3.0.2", "10.3.0.3", "10.99.0.1"), muxes))
        .containsExactlyInAnyOrder(
            "packets to 10.3.0.1, 10.3.0.2 are dropped by the only mux (%s)".formatted(NEIGHBOUR),
            "packets to 10.99.0.1 are dropped by the only mux (loop: the address is a VIP or a"
                + " mux)",
            "packets to 10.3.0.3 are dropped by the only mux (some_new_word)");
  }

  @Test
  void nothingIsSaidWithoutMuxesOrOfOtherAddresses() {
    assertThat(Unreachable.warnings(List.of("10.3.0.1"), List.of())).isEmpty();
    assertThat(
            Unreachable.warnings(
                List.of("10.3.0.1"), List.of(mux("mux1", Map.of("10.3.0.2", "no_neighbour")))))
        .isEmpty();
  }
}
