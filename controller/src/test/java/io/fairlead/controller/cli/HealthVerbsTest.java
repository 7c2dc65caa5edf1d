// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.api.ServedApi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The options of health checks, over HTTP and the contract. */
class HealthVerbsTest extends ServedApi {
  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  private String refused(String... words) {
    return CtlRun.at(url(), words).err();
  }

  @Test
  void everyOptionReachesTheService() {
    done(
        "service create api --vip 10.99.0.1 --port tcp:80 --buckets 256 --health https"
            + " --health-port 8443 --health-path /ready?deep --health-host www.example.org"
            + " --health-verify true --health-status 200-299,401 --health-body ready"
            + " --health-interval 10000 --health-timeout 3000 --health-rise 4 --health-fall 5"
            + " --health-jitter 20");
    assertThat(done("service show api"))
        .containsPattern(
            "health check +https port 8443 host www.example.org path /ready\\?deep verify true\n")
        .containsPattern("expect status +200-299,401\n")
        .containsPattern("expect body +ready\n")
        .contains("every 10000 ms +-20 %, timeout 3000 ms, up after 4, down after 5");
    done("service change api --health-dead true");
    assertThat(done("service show api")).contains("healthy, silent servers removed as dead\n");
    done("service change api --health-fall 6 --health-port 0");
    assertThat(done("service show api"))
        .contains("down after 6")
        .containsPattern("health check +https host");
    done("service change api --health command --health-command check-app");
    assertThat(done("service show api"))
        .containsPattern("health check +command command check-app\n")
        .contains("up after 2, down after 3")
        .doesNotContain("expect");
    done("service change api --health none");
    assertThat(done("service show api")).doesNotContain("health");
    done(
        "service create dns --vip 10.99.0.2 --port udp:53 --buckets 256 --health udp"
            + " --health-send 00ff --health-answer 0a");
    assertThat(done("service show dns"))
        .containsPattern("health check +udp send 00ff\n")
        .containsPattern("expect hex +0a\n");
  }

  @Test
  void refusalsNameTheField() {
    done("service create api --vip 10.99.0.1 --port tcp:80 --buckets 256");
    assertThat(refused("service", "change", "api", "--health", "icmp"))
        .contains("healthCheck.kind", "icmp");
    assertThat(refused("service", "change", "api", "--health-rise", "3"))
        .contains("healthCheck.kind");
    assertThat(refused("service", "change", "api", "--health", "http", "--health-path", "x"))
        .contains("healthCheck.path");
    assertThat(refused("service", "change", "api", "--health", "http", "--health-status", "20"))
        .contains("healthCheck.expect.status");
    assertThat(refused("service", "change", "api", "--health", "udp", "--health-send", "00"))
        .contains("healthCheck.kind", "a kind for one of the service's ports");
    assertThat(refused("service", "change", "api", "--health", "tcp", "--health-fall", "21"))
        .contains("healthCheck.fall");
  }

  @Test
  void filesHaveThem(@TempDir Path folder) throws IOException {
    String file = folder.resolve("services.yaml").toString();
    done("service create api --vip 10.99.0.1 --port tcp:80 --buckets 256 --health http");
    String yaml = done("export");
    assertThat(yaml).contains("healthCheck:", "kind: \"http\"");
    Files.writeString(Path.of(file), yaml);
    assertThat(done("diff -f " + file)).contains("api: as in the file");
    done("service change api --health none");
    assertThat(CtlRun.at(url(), "diff", "-f", file).out()).contains("healthCheck: none ->");
    done("apply -f " + file);
    assertThat(done("diff -f " + file)).contains("api: as in the file");
  }
}
