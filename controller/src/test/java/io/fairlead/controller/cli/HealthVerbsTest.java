// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.ServedApi;
import io.fairlead.controller.resources.health.HealthDecision.State;
import io.fairlead.controller.resources.health.HealthRoutes;
import io.fairlead.controller.resources.health.HealthView;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The options of health checks, over HTTP and the contract. */
class HealthVerbsTest extends ServedApi {
  private final List<HealthView> health = new ArrayList<>();

  @Override
  protected List<Resource> resources() {
    return List.of(new HealthRoutes(() -> List.copyOf(health), controller.get().probes().holds()));
  }

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

  private static HealthView.Backend backend(int id, State state, int down, String fault) {
    return new HealthView.Backend(
        id,
        state,
        2 - down,
        down,
        0,
        fault == null ? Map.of() : new TreeMap<>(Map.of("mux1", fault, "mux2", fault)),
        Optional.of(1_700_000_000L).filter(any -> fault != null),
        Optional.of(2).filter(any -> fault != null),
        Optional.of(1_700_000_030L).filter(any -> state == State.RETURNING));
  }

  @Test
  void healthShowsStatesReasonsAndChanges() {
    assertThat(done("health")).containsPattern("leader +yes\n").contains("zookeeper");
    assertThat(done("health web")).isEqualTo("service web has no health check\n");
    assertThat(done("health --backends")).isEqualTo("no service has a health check\n");
    health.add(
        new HealthView(
            "web",
            List.of(
                backend(7, State.HEALTHY, 0, null),
                backend(8, State.DEAD, 2, "timeout at 10.99.0.1 tcp:80"),
                backend(9, State.RETURNING, 0, "refused at 10.99.0.1 tcp:80"),
                backend(10, State.DRAINING, 0, null)),
            1,
            true,
            false,
            1,
            2,
            List.of("mux3, 2 of its backends: no IPv6"),
            List.of(new HealthView.Event(1_700_000_000, 8, State.OUT, State.DEAD, "timeout"))));
    health.add(new HealthView("mail", List.of(), 0, false, true, 2, 2, List.of(), List.of()));
    assertThat(done("health web"))
        .startsWith("web: 1 of 3 backends healthy, by 1 probes; too few: health is ignored\n")
        .contains("  the leader has just begun, and only looks\n")
        .contains("  nothing goes out of service: that takes 2 probes\n")
        .contains("  not probed by mux3, 2 of its backends: no IPv6\n")
        .containsPattern("7 +healthy +2 +0 +- +- +- *\n")
        .containsPattern(
            "8 +dead +0 +2 +2023-11-14T22:13:20Z +2 +- +mux1: timeout at 10.99.0.1 tcp:80, mux2: ")
        .containsPattern("9 +returning +2 +0 +\\S+ +2 +2023-11-14T22:13:50Z +mux1: refused")
        .containsPattern("AT +BACKEND +FROM +TO +REASON *\n2023-11-14T22:13:20Z +8 +out +dead")
        .doesNotContain("mail");
    assertThat(done("health --backends")).contains("web: 1 of 3", "mail: 0 of 0 backends healthy");
  }

  private Map<Integer, Long> holds() {
    return controller.plane().read("web", stored -> stored.image().transitions().health().holds());
  }

  @Test
  void holdsAreMadeAndReleased() {
    done("service create web --vip 10.99.0.1 --port tcp:80 --buckets 256 --health tcp");
    done("backend add web 7 10.1.0.27");
    done("backend add web 8 10.1.0.28");
    assertThat(done("backend hold-health web 7 8 --dry-run"))
        .startsWith("would keep backends 7, 8 of web whatever probes find");
    assertThat(done("backend hold-health web 7 8"))
        .startsWith("keeping backends 7, 8 of web whatever probes find: generation ");
    assertThat(holds()).containsOnlyKeys(7, 8);
    assertThat(done("backend release-health web 7"))
        .startsWith("applies health to backend 7 of web");
    assertThat(holds()).containsOnlyKeys(8);
    assertThat(refused("backend", "hold-health", "web", "77")).contains("77", "ids");
    assertThat(refused("backend", "release-health", "mail", "7")).contains("mail");
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
