// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.http.ServedApi;
import org.junit.jupiter.api.Test;

/** Settings of the whole cluster, over HTTP. */
class ClusterVerbsTest extends ServedApi {
  @Override
  protected ClusterSettings settings() {
    return ClusterSettings.NONE;
  }

  private String done(String line) {
    return CtlRun.done(url(), line);
  }

  @Test
  void clusterSetsWhatIsGivenAndKeepsTheRest() {
    assertThat(done("cluster show")).isEqualTo("VIP ranges  none\nnever VIPs  none\n");
    assertThat(done("cluster set --vip-range 10.99.0.0/16,fd00::/16 --dry-run"))
        .isEqualTo("VIPs would come from 10.99.0.0/16, fd00::/16; never: none\n");
    assertThat(done("cluster set --vip-range 10.99.0.0/16 --vip-range fd00::/16"))
        .isEqualTo("VIPs come from 10.99.0.0/16, fd00::/16; never: none\n");
    assertThat(done("cluster set --never-vip 10.99.0.9,10.99.7.0/24"))
        .isEqualTo("VIPs come from 10.99.0.0/16, fd00::/16; never: 10.99.0.9, 10.99.7.0/24\n");
    assertThat(done("cluster show"))
        .isEqualTo(
            """
            VIP ranges  10.99.0.0/16, fd00::/16
            never VIPs  10.99.0.9, 10.99.7.0/24
            """);
    assertThat(done("cluster set --never-vip none"))
        .isEqualTo("VIPs come from 10.99.0.0/16, fd00::/16; never: none\n");
    done("service create web --vip-range 10.99.0.0/16 --vip 10.99.0.1 --port tcp:80");
  }
}
