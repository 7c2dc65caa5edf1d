// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ServedApi;
import io.fairlead.controller.resources.agents.AgentRequests;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The verbs for backends that start slowly or drain, over HTTP. */
class TransitionVerbsTest extends ServedApi {
  @BeforeEach
  void open() {
    done("service create web --vip 10.99.0.1 --port tcp:80 --buckets 1024");
    done("backend add web 1 10.1.0.21");
  }

  private CtlRun run(String line) {
    return CtlRun.at(url(), line.split(" "));
  }

  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  @Test
  void theListSaysWhatIsHeardOfAgents() {
    done("backend add web 2 10.1.0.22");
    assertThat(done("backend list web")).containsPattern("1 +10.1.0.21 .* none\n +2 .* none\n");
    report(1, null);
    assertThat(done("backend list web"))
        .containsPattern("1 +10.1.0.21 .* reporting\n +2 .* none\n");
    assertThat(done("agents")).containsPattern("web +1 +10.1.0.21 +reporting +- ");
  }

  /** Of backend 1. */
  private void report(int sequence, JsonObject form) {
    JsonObject services = client.get("/v1/agent/services").json();
    assertThat(services.getBoolean("asksForm")).isTrue();
    assertThat(services.getBoolean("asksSignals")).isTrue();
    JsonObject report =
        AgentRequests.report(
            sequence, services.getString("version"), "10.1.0.21", AgentRequests.service("web", 1));
    if (form != null) {
      report.put("form", form);
    }
    assertThat(client.send("POST", "/v1/agent/reports", report.encode()).status()).isEqualTo(200);
  }

  @Test
  void listsSayThatAServerIsDetached() {
    JsonObject form = new JsonObject().put("kind", "bpf").put("interface", "eth0");
    report(1, form.copy().put("attached", true));
    assertThat(done("backend list web")).containsPattern("1 +10.1.0.21 .* reporting\n");
    assertThat(done("agents")).containsPattern("web +1 +10.1.0.21 +reporting +eth0 ");
    report(2, form.copy().put("attached", false));
    assertThat(done("backend list web")).containsPattern("1 +10.1.0.21 .* detached from eth0\n");
    assertThat(done("agents")).containsPattern("web +1 +10.1.0.21 +reporting +detached: eth0 ");
    report(3, new JsonObject().put("kind", "module").put("attached", false));
    assertThat(done("backend list web"))
        .containsPattern("1 +10.1.0.21 .* detached: no module serves\n");
  }

  @Test
  void aSlowStartIsShownBesideTheWeight() {
    done("service change web --slow-start 60");
    assertThat(done("service show web")).containsPattern("slow start +60 s");
    done("backend add web 2 10.1.0.22 --slow-start 300");
    assertThat(done("backend list web"))
        .containsPattern("2 +10.1.0.22 +100 +active, starting: 5 % +\\d+");
    done("backend weight web 2 100");
    assertThat(done("backend list web")).doesNotContain("starting");
    assertThat(run("backend add web 3 10.1.0.23 --slow-start 9").err())
        .contains("allowed: 0, or 10..86400");
  }

  @Test
  void drainsAreListedUntilTheyAreUndone() {
    done("backend add web 2 10.1.0.22");
    done("backend add web 3 10.1.0.23");
    assertThat(done("drains")).isEqualTo("no backend drains\n");
    assertThat(done("backend drain web 2 3 --deadline 2h --then remove --dry-run"))
        .startsWith("would drain backends 2, 3 of web: generation ")
        .containsPattern(
            "backend 2 has an unknown number of connections .no agent reports.: those that are left"
                + " break at the deadline, 20");
    assertThat(done("drains")).isEqualTo("no backend drains\n");
    done("backend drain web 2 3 --deadline 2h --then remove");
    assertThat(done("drains web"))
        .containsPattern("web +2 +draining +\\S+Z +\\S+Z +remove +- +- +- +connections unknown");
    assertThat(done("drains mail --watch")).isEqualTo("no backend drains\n");
    assertThat(done("backend list web")).containsPattern("3 +10.1.0.23 +0 +draining");
    done("service change web --max-draining 25%");
    assertThat(done("service show web")).containsPattern("max draining +25%");
    assertThat(run("backend drain web 1").err())
        .contains("at most 1 of 3 backends draining (maintenance.maxDraining 25%); now: 2, 3");
    done("backend undrain web 2 3");
    assertThat(done("drains --watch")).isEqualTo("no backend drains\n");
    assertThat(done("backend list web")).containsPattern("3 +10.1.0.23 +100 +active");
    assertThat(run("backend undrain web 2").err()).contains("allowed: draining backends: none");
    assertThat(run("backend drain web 2 --deadline soon").err()).contains("such as 2h");
    assertThat(run("service change web --max-draining half").err()).contains("1%..100%");
  }
}
