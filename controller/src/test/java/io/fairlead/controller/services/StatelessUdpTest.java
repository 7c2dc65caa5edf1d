// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlMain;
import io.fairlead.controller.api.ServedApi;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** {@code statelessUdp} by the commands: kept, changed, and what becomes of an explained flow. */
class StatelessUdpTest extends ServedApi {
  private static final String CREATE =
      "service create dns --vip 10.99.0.1 --port udp:53,tcp:53 --buckets 1024";

  private record Run(int exit, String out, String err) {}

  private Run run(String line) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String[] args =
        Stream.concat(Stream.of("--api", "http://" + server.listen()), Stream.of(line.split(" ")))
            .toArray(String[]::new);
    CommandLine command =
        CtlMain.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
    return new Run(command.execute(args), out.toString(), err.toString());
  }

  private String done(String line) {
    Run run = run(line);
    assertThat(run.err()).as(line).isEmpty();
    assertThat(run.exit()).as(line).isZero();
    return run.out();
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
    Run run = run("service change dns --stateless-udp maybe");
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.err()).contains("--stateless-udp", "maybe");
  }

  private String explained(String protocol, int port) {
    return done("explain dns %s 10.2.1.2:%d 10.99.0.1:53".formatted(protocol, port));
  }

  /** The first client's port whose bucket has a previous owner. */
  private int movedPort(String protocol) {
    int port = 1;
    while (!explained(protocol, port).contains("previous")) {
      port++;
    }
    return port;
  }

  @Test
  void aDatagramIsExplainedAsNotChained() {
    done(CREATE + " --stateless-udp true");
    done("backend add dns 1 10.1.0.21");
    done("backend add dns 2 10.1.0.22");
    int udp = movedPort("udp");
    assertThat(explained("udp", udp)).contains("window closed, or not used: stateless UDP\n");
    assertThat(explained("tcp", movedPort("tcp"))).contains("window open: older connections");
    done("service change dns --stateless-udp false");
    assertThat(explained("udp", udp)).contains("window open: older connections");
  }
}
