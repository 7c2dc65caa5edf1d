// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ServedApi;
import org.junit.jupiter.api.Test;

/** {@code statelessUdp} by the commands: kept, changed, and what becomes of an explained flow. */
class StatelessUdpTest extends ServedApi {
  private static final String CREATE =
      "service create dns --vip 10.99.0.1 --port udp:53,tcp:53 --buckets 1024";

  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  @Test
  void staysUntilItIsChanged() {
    done(CREATE + " --stateless-udp true");
    assertThat(done("service show dns")).contains("stateless udp  true\n");
    done("service change dns --window 60");
    assertThat(done("service show dns")).contains("stateless udp  true\n");
    assertThat(done("service change dns --stateless-udp false --dry-run"))
        .startsWith("would change service dns: generation 1\n");
    assertThat(done("service show dns")).contains("stateless udp  true\n");
    done("service change dns --stateless-udp false");
    assertThat(done("service show dns")).doesNotContain("stateless udp");
  }

  @Test
  void anythingElseIsRefused() {
    done(CREATE);
    CtlRun run = CtlRun.at(url(), "service change dns --stateless-udp maybe".split(" "));
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.err()).contains("--stateless-udp", "maybe");
  }

  private String explained(String protocol, int port) {
    return done("explain dns %s 10.2.1.2:%d 10.99.0.1:53".formatted(protocol, port));
  }

  /** The first client's port whose bucket is backend 2's. */
  private int movedPort(String protocol) {
    for (int port = 1; port < 1000; port++) {
      if (explained(protocol, port).contains("2 at 10.1.0.22")) {
        return port;
      }
    }
    throw new AssertionError("no flow is backend 2's");
  }

  @Test
  void aDatagramIsExplainedAsNotChained() {
    done(CREATE + " --stateless-udp true");
    done("backend add dns 1 10.1.0.21");
    done("backend add dns 2 10.1.0.22");
    int udp = movedPort("udp");
    assertThat(explained("udp", udp)).contains("former      none\n");
    assertThat(explained("tcp", movedPort("tcp")))
        .containsPattern("former +1 at 10.1.0.21, lost it at 20");
    done("service change dns --stateless-udp false");
    assertThat(explained("udp", udp)).containsPattern("former +1 at 10.1.0.21, lost it at 20");
  }
}
