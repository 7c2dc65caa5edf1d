// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ServedApi;
import org.junit.jupiter.api.Test;

/** What the verbs do with services that are steered by load, over HTTP. */
class LoadVerbsTest extends ServedApi {
  private static final String FLOW = "explain app %s 10.2.1.2:40001 10.99.0.1:80";

  @Test
  void bothCandidatesAreExplained() {
    done(
        "service create app --vip 10.99.0.1 --port tcp:80 udp:80 --buckets 256 --steering hunt"
            + " --hash-key 000102030405060708090a0b0c0d0e0f --hold 3600");
    done("backend add app 1 10.1.0.21");
    String one = done(FLOW.formatted("tcp"));
    assertThat(one)
        .containsPattern("bucket +\\d+\n")
        .containsPattern("second bucket +\\d+, of 1 at 10.1.0.21\n")
        .containsPattern("order +a new connection that the first backend refuses is taken by the");
    assertThat(done(FLOW.formatted("udp"))).doesNotContain("second", "order");
    String plan = done("backend add app 2 10.1.0.22 --dry-run");
    assertThat(plan)
        .contains("would move 128 buckets: 128 from 1 to 2\n")
        .contains("75.0 % of all connections have one of them as their first or second bucket");
    done("backend add app 2 10.1.0.22");
    done("backend drain app 1");
    assertThat(done(FLOW.formatted("tcp")))
        .containsPattern("second bucket +\\d+, of 2 at 10.1.0.22\n")
        .containsPattern("second former +1 at 10.1.0.21, lost it at 20\\d\\d-")
        .containsPattern("second held for +backend 1: unknown");
  }

  @Test
  void aMuxOrdersBoth() {
    done(
        "service create app --vip 10.99.0.1 --port tcp:80 --buckets 256 --steering maat"
            + " --hash-key 000102030405060708090a0b0c0d0e0f");
    done("backend add app 1 10.1.0.21");
    assertThat(done(FLOW.formatted("tcp")))
        .containsPattern("second former +(none|1 at 10.1.0.21)")
        .containsPattern("order +each mux names the less loaded of both first");
    assertThat(done("service change app --window 600 --dry-run")).doesNotContain("connections");
  }

  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  @Test
  void steeringByLoad() {
    String service = "service create %s --vip 10.99.0.%d --port tcp:80 --buckets 1024 --steering ";
    done(service.formatted("app", 1) + "hunt --hunt-threshold 3 --hunt-epsilon 50");
    assertThat(done("service show app"))
        .containsPattern("steering +hunt\n")
        .containsPattern("hunt +dynamic, threshold 3, window 50, epsilon 50/1000\n");
    done("service change app --hunt-policy static --hunt-window 20");
    assertThat(done("service show app")).contains("static, threshold 4, window 20,");
    assertThat(CtlRun.at(url(), "service", "change", "app", "--maat-delta", "5").err())
        .contains("maat")
        .contains("steering is hunt");
    done(service.formatted("web", 2) + "maat --maat-preset paper --maat-load bytes");
    assertThat(done("service show web"))
        .contains(
            "load by bytes, delta 100/1000, half-life 60000 ms, filter 32768 bytes, 3 hashes");
    done(
        "service change web --maat-load agents --maat-delta 20 --maat-half-life 500"
            + " --maat-filter 4096 --maat-hashes 2");
    assertThat(done("service show web"))
        .contains("load by agents, delta 20/1000, half-life 500 ms, filter 4096 bytes, 2 hashes");
    assertThat(CtlRun.at(url(), "service", "change", "web", "--maat-filter", "4095").err())
        .contains("maat.filterBytes");
    assertThat(CtlRun.at(url(), "service", "change", "web", "--maat-preset", "paper").exit())
        .isEqualTo(2);
  }
}
