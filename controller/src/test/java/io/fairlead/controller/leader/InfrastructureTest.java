// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.ring.Address;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InfrastructureTest {
  @ParameterizedTest
  @CsvSource({
    "host1/10.1.0.5:8080, 10.1.0.5",
    "host1/[2001:db8::5]:8080, 2001:db8::5",
    "host1/0.0.0.0:8080, host1",
    "host1/[::]:8080, host1",
    "host1/ctl.example:8080, ctl.example",
    "host1/process 77, host1",
    "test, test",
  })
  void aControllerIsWhereItListens(String id, String host) {
    assertThat(Infrastructure.hosts(id)).containsExactly(host);
  }

  @Test
  void ofAnEnsembleEachServerIsTaken() {
    Infrastructure infrastructure =
        new Infrastructure(
            "10.1.0.5:2181,[2001:db8::6]:2181,localhost:2181",
            () -> List.of("x/10.1.0.7:1"),
            List::of);
    assertThat(infrastructure.get().addresses())
        .containsKeys(address("10.1.0.5"), address("2001:db8::6"), address("127.0.0.1"))
        .containsEntry(address("10.1.0.7"), "it is that of the controller x/10.1.0.7:1");
    assertThat(infrastructure.get().muxes()).isEmpty();
  }

  private static Address address(String text) {
    return Address.parse(text).orElseThrow();
  }
}
