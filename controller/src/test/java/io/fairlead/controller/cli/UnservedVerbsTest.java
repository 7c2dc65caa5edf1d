// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static io.fairlead.controller.resources.muxes.Muxes.limited;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ServedApi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What verbs say of muxes that can't serve a service, over HTTP. */
class UnservedVerbsTest extends ServedApi {
  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  @Test
  void aWriteSaysWhichMuxesDoNotAnnounceTheService(@TempDir Path directory) throws IOException {
    controller.mux(limited("mux1", 4096, Map.of()));
    String warnings =
        """
        warning: no mux announces service api: the only one that is there can't serve it
        warning: mux mux1 of kind p4 does not announce service api: steering is hunt; it serves ring
        """;
    String create = "service create api --vip 10.99.0.2 --port tcp:80 --steering hunt";
    assertThat(done(create + " --dry-run"))
        .isEqualTo(
            "would create service api: generation 1\n" + warnings + "would move no buckets\n");
    assertThat(done(create)).isEqualTo("created service api: generation 1\n" + warnings);
    Path services =
        Files.writeString(
            directory.resolve("services.yaml"),
            """
            services:
            - {name: wide, vips: [10.99.0.3], ports: [{protocol: tcp, port: 80}], buckets: 8192}
            """);
    assertThat(done("apply -f " + services))
        .isEqualTo(
            """
            wide: created, generation 1, 0 buckets moved
            warning: no mux announces service wide: the only one that is there can't serve it
            warning: mux mux1 of kind p4 does not announce service wide: buckets is 8192; it serves at most 4096
            1 created
            """);
  }
}
