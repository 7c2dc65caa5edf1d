// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.othello;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class AppliedCommitsTest {
  private static final int WINDOW = 100;

  private final AppliedCommits commits = new AppliedCommits();

  private void see(long generation, long committed, long least, long now) {
    commits.see(generation, committed, OptionalLong.of(least), now, WINDOW);
  }

  @Test
  void aCommitIsAppliedOnceTheLastMuxHasIt() {
    see(5, 1000, 4, 1001);
    assertThat(commits.applied(1000)).isEmpty();
    see(5, 1000, 5, 1004);
    assertThat(commits.applied(1000)).hasValue(1004);
    assertThat(commits.applied(990)).as("what was committed before").hasValue(1004);
    assertThat(commits.applied(1001)).as("what is not committed").isEmpty();
  }

  @Test
  void aLaterCommitThatAMuxLacksDoesNotMatterToEarlierOnes() {
    see(5, 1000, 5, 1001);
    see(8, 1010, 5, 1011);
    assertThat(commits.applied(1000)).hasValue(1001);
    assertThat(commits.applied(1005)).isEmpty();
    see(9, 1012, 8, 1013);
    assertThat(commits.applied(1010)).hasValue(1013);
    assertThat(commits.applied(1012)).isEmpty();
  }

  @Test
  void withoutMuxesNobodyIsBehind() {
    commits.see(5, 1000, OptionalLong.empty(), 1000, WINDOW);
    assertThat(commits.applied(1000)).hasValue(1000);
  }

  @Test
  void whatAWindowHasPassedSinceIsForgotten() {
    see(5, 1000, 5, 1001);
    see(6, 1050, 6, 1051);
    see(6, 1050, 6, 1101);
    assertThat(commits.applied(1000)).as("by the next one").hasValue(1051);
  }
}
