// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static io.fairlead.controller.resources.muxes.Muxes.mux;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ServedApi;
import io.fairlead.controller.resources.muxes.MuxView;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What verbs say of backends that muxes can't send to, over HTTP. */
class UnreachableVerbsTest extends ServedApi {
  private static final String WARNING =
      "warning: packets to 10.1.0.22 are dropped by mux mux2 (no_neighbour: no route, or no answer"
          + " to ARP or neighbour discovery)\n";

  @BeforeEach
  void muxes() {
    controller.mux(mux("mux1", "10.1.0.11", List.of("eth0"), Map.of()));
    Map<String, String> unreachable =
        new TreeMap<>(Map.of("10.1.0.22", "no_neighbour", "10.1.0.29", "loop"));
    controller.mux(
        new MuxView(
            "mux2",
            "c",
            "0.1.0",
            Optional.of("10.1.0.12"),
            Optional.empty(),
            List.of("eth0"),
            Optional.empty(),
            Map.of(),
            unreachable,
            7,
            Map.of(),
            Optional.empty()));
  }

  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  @Test
  void theListThePlanAndTheWriteNameIt() {
    done("service create api --vip 10.99.0.2 --port tcp:80 --buckets 256");
    assertThat(done("backend add api 1 10.1.0.21")).doesNotContain("warning");
    assertThat(done("backend add api 2 10.1.0.22 --dry-run")).contains(WARNING);
    assertThat(done("backend add api 2 10.1.0.22")).contains(WARNING);
    assertThat(done("backend list api"))
        .isEqualTo(
            """
            ID  ADDRESS    WEIGHT  STATE                        BUCKETS   SHARE  AGENT
             1  10.1.0.21     100  active                           128  50.0 %  none
             2  10.1.0.22     100  active, unreachable by mux2      128  50.0 %  none
            """);
    assertThat(done("backend weight api 1 50 --dry-run")).contains(WARNING);
    assertThat(done("backend remove api 2 --dry-run")).doesNotContain("warning");
  }

  @Test
  void aManifestsPoolNamesIt(@TempDir Path directory) throws Exception {
    Path services =
        Files.writeString(
            directory.resolve("services.yaml"),
            """
            services:
            - {name: api, vips: [10.99.0.3], ports: [{protocol: tcp, port: 80}], buckets: 256,
               pool: [{id: 1, address: 10.1.0.21}, {id: 2, address: 10.1.0.22}]}
            """);
    assertThat(done("apply --dry-run -f " + services)).contains(WARNING);
    assertThat(done("apply -f " + services)).contains(WARNING);
  }

  @Test
  void muxesSayWhichTheyCantSendTo() {
    assertThat(done("muxes"))
        .endsWith("mux2 can't send to 10.1.0.22: no_neighbour, 10.1.0.29: loop, 7 more\n");
  }
}
