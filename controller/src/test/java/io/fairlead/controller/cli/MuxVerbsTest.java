// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static io.fairlead.controller.resources.muxes.Muxes.mux;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ServedApi;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Muxes are added and removed, over HTTP. */
class MuxVerbsTest extends ServedApi {
  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  /** What can be piped into a shell on the mux's host, whatever the readers' password has in it. */
  @Test
  void addingOnePrintsAScriptForItsHost() {
    controller.protect("readers:$(reboot)`'\\");
    assertThat(done("mux add mux1 --dry-run")).isEqualTo("would add mux mux1\n");
    assertThat(done("muxes")).isEqualTo("no mux is added; fairleadctl mux add ID does so\n");
    String script = done("mux add mux1");
    assertThat(script)
        .matches(
            """
            # mux mux1 is added.
            # On its host, as root. These logins are shown this once: --rotate makes new ones.
            umask 077
            mkdir -p /etc/fairlead/mux-secrets
            cat >/etc/fairlead/mux-secrets/zookeeper-auth <<'END'
            readers:\\$\\(reboot\\)`'\\\\
            mux-mux1:[0-9a-f]{64}
            END
            mkdir -p /etc/fairlead/probe-secrets
            cat >/etc/fairlead/probe-secrets/zookeeper-auth <<'END'
            readers:\\$\\(reboot\\)`'\\\\
            probe-mux1:[0-9a-f]{64}
            END
            # With --id mux1, and the files as --zookeeper-auth; then restart both.
            """);
    assertThat(done("muxes"))
        .isEqualTo(
            """
            MUX   KIND  ADDRESS  VERSION  PORTS  SERVICE  GENERATION  STATE
            mux1     -                 -               -           -  absent
            """);
    CtlRun again = CtlRun.at(url(), "mux", "add", "mux1");
    assertThat(again.exit()).isEqualTo(1);
    assertThat(again.err()).contains("id 'mux1' is refused");
    assertThat(done("mux add mux1 --rotate"))
        .startsWith("# mux mux1 has new logins.\n")
        .doesNotContain(script.lines().filter(line -> line.startsWith("mux-")).findFirst().get());
    assertThat(done("mux remove mux1")).isEqualTo("removed mux mux1\n");
  }

  @Test
  void inAClusterWithoutLoginsThereIsNothingToPrint() {
    assertThat(done("mux add mux1"))
        .isEqualTo(
            "# mux mux1 is added.\n"
                + "# This cluster has no logins: nothing has to be put on its host.\n");
  }

  @Test
  void oneThatIsAliveIsRemovedByForce() {
    controller.mux(mux("mux1", "10.1.0.11", List.of("eth0"), Map.of()));
    assertThat(CtlRun.at(url(), "mux", "remove", "mux1").exit()).isEqualTo(1);
    assertThat(done("mux remove mux1 --force --dry-run")).isEqualTo("would remove mux mux1\n");
    assertThat(done("mux remove mux1 --force")).isEqualTo("removed mux mux1\n");
  }
}
