// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ServedApi;
import io.fairlead.controller.resources.muxes.Muxes;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the verbs say of buckets that are held, over HTTP. */
class HoldVerbsTest extends ServedApi {
  @BeforeEach
  void open() {
    done("service create web --vip 10.99.0.1 --port tcp:80 --buckets 1024 --window 86400");
    done("backend add web 1 10.1.0.21");
  }

  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  @Test
  void heldBucketsAreShownByTheirFormerOwner() {
    assertThat(done("holds web"))
        .contains(
            "web: former owners count for the window of 86400 s, until the agents of all backends"
                + " report: backend 1 has no agent");
    assertThat(done("ring web")).doesNotContain("held");
    done("service change web --hold 604800");
    assertThat(done("service show web")).containsPattern("hold +604800 s");
    assertThat(done("ring web")).contains("held: no buckets");
    done("backend add web 2 10.1.0.22");
    assertThat(done("holds web")).contains("web: 0 buckets held, 512 more chained");
    assertThat(done("ring web"))
        .containsPattern("FORMER OWNER +CHAINED +SINCE +UNTIL AT LATEST")
        .containsPattern("1 +512 +20\\d\\d-")
        .contains("for how many connections: fairleadctl holds web");
    assertThat(done("service change web --hold 86400 --dry-run"))
        .contains("512 buckets have former owners, 512 of them for less time, 0 no longer");
    done("service change web --hold default");
    assertThat(done("service show web")).containsPattern("hold +604800 s, by default");
    assertThat(CtlRun.at(url(), "service", "change", "web", "--hold", "none").err())
        .contains("'none' is refused; allowed: seconds, 0..604800, or default");
    done("service create dns --vip 10.99.0.3 --port tcp:53 --hold default");
    assertThat(done("service show dns")).containsPattern("hold +0 s, by default");
    done("service create near --vip 10.99.0.4 --port tcp:80 --steering hunt --hold 60");
    assertThat(CtlRun.at(url(), "service", "change", "near", "--hold", "default").err())
        .contains("allowed: with steering ring, and encap gue or srv6");
    assertThat(done("service show near")).containsPattern("hold +60 s");
    String flow = bucketOf2();
    assertThat(done(flow))
        .containsPattern("held +until 20\\d\\d-[^ ]+ at the latest")
        .containsPattern("backend 1: unknown: backend 1 has no agent");
  }

  /** No report counts while a mux may open connections at backend 1 by what it has. */
  @Test
  void itIsSaidForWhichMuxReleasesWait() throws Exception {
    done("service create api --vip 10.99.0.2 --port tcp:80 --buckets 1024 --window 1");
    done("service change api --hold 3600");
    done("backend add api 1 10.1.0.21");
    controller.mux(Muxes.mux("mux1", "10.1.0.11", List.of(), Map.of("api", Muxes.serving(2))));
    done("backend add api 2 10.1.0.22");
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> done("holds api").contains("mux1 has not applied"));
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> done("holds api").contains("512 buckets held"));
    assertThat(done("holds api"))
        .containsOnlyOnce("512 buckets wait; those that moved last wait for this:\n")
        .containsPattern("\n  mux1 has not applied generation \\d+\n")
        .containsPattern(
            "\n  some mux may be absent that this controller never saw;" + " until 20\\d\\d-");
  }

  /** A flow whose bucket has moved to backend 2. */
  private String bucketOf2() {
    for (int port = 1; port < 1000; port++) {
      String line = "explain web tcp 10.2.1.2:" + port + " 10.99.0.1:80";
      if (done(line).contains("10.1.0.22")) {
        return line;
      }
    }
    throw new AssertionError("no flow is backend 2's");
  }
}
