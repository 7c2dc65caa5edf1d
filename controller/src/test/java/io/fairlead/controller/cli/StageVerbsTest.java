// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ServedApi;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Staged changes by verbs, over HTTP. */
class StageVerbsTest extends ServedApi {
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
  void aBackendIsAddedInSteps() {
    assertThat(done("stage show web")).isEqualTo("no change of service web was staged\n");
    assertThat(run("stage advance web").err()).contains("a service with a staged change");
    String add = "backend add web 2 10.1.0.22 --stage 1%,10%,100% --bake 2m";
    String steps =
        "1.0 % of the buckets that the change moves, of 1.0 %, 10.0 %, 100.0 %; each step";
    assertThat(done(add + " --dry-run")).contains(steps + " for 120 s", "would move 5 buckets");
    assertThat(done("stage show web")).isEqualTo("no change of service web was staged\n");
    assertThat(done(add)).contains(steps, "moved 5 buckets");
    assertThat(done("service show web"))
        .containsPattern("staged change +1.0 % of the buckets of backend 2 moved, 10.0 % due 20");
    assertThat(run("backend weight web 2 50").err())
        .contains("while one is staged (backend 2 at 1 % of it moved)", "stage rollback web");
    assertThat(done("stage advance web --dry-run"))
        .startsWith("would advance the staged change of web: generation ");
    assertThat(done("stage advance web")).contains("10.0 % of the buckets", "moved 46 buckets");
    assertThat(done("stage rollback web"))
        .startsWith("rolled back the staged change of web: generation ")
        .contains("the staged change is rolled back: by hand", "moved 51 buckets");
    assertThat(done("stage show web"))
        .containsPattern("staged change +rolled back at 10.0 %, 20[^ ]+Z: by hand");
    assertThat(done("backend list web")).containsPattern("2 +10.1.0.22 +0 +draining +0 ");
    assertThat(done("audit")).contains("/stage/rollback");
  }

  @Test
  void aServiceSaysHowChangesAreStaged() {
    done("service change web --stages 5%,100% --stage-bake 30 --stage-factor 300");
    assertThat(done("service show web"))
        .containsPattern("stages +5%,100%")
        .containsPattern("stage limits +30 s each, 300 % of the others' rate, from 3 events on");
    assertThat(done("backend add web 2 10.1.0.22"))
        .contains("of 5.0 %, 100.0 %; each step for 30 s");
    assertThat(done("backend add web 3 10.1.0.23 --stage 100%")).doesNotContain("each step");
    done("service change web --stages none");
    assertThat(done("service show web")).containsPattern("stages +none");
    assertThat(run("service change web --stages 10%,5%,100%").err())
        .contains("stageSettings.stages '10%,5%,100%'", "ascending percentages");
    assertThat(run("service change web --stage-factor 99").err()).contains("100..10000");
    assertThat(run("backend add web 4 10.1.0.24 --stage soon").err())
        .contains("percentages, such as 1%,10%,100%");
    assertThat(run("backend add web 4 10.1.0.24 --stage 10%").err())
        .contains("the last of them 100%");
    assertThat(run("backend add web 4 10.1.0.24 --bake 9s").err())
        .contains("bake '9'", "with stage");
    done("stage rollback web");
    assertThat(run("service change web --assignment maglev --stages 1%,100%").err())
        .contains("none with assignment maglev");
  }
}
