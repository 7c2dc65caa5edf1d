// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.plane.Result;
import java.time.Instant;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What another hold means for buckets that several owners have lost, one after another. */
class ChangeOfHoldTest {
  /** Bucket 7 went from 1 to 2, and 1,000 s later, 200 s ago, to 3; bucket 8 from 1 to 3 then. */
  @ParameterizedTest
  @CsvSource({
    // new hold, shortened, released
    "3600, 0, 0",
    "1300, 2, 0",
    "1200, 2, 1",
    " 500, 2, 1",
    "   0, 2, 1", // the window is open for those that moved 200 s ago
  })
  void aBucketCountsByAllItsFormerOwners(int seconds, int shortened, int released) {
    HeldStory story = new HeldStory(3).move(1, 7, 8).move(2, 7).wait(1000);
    story.move(3, 7, 8).wait(200);
    ServiceConfig changed = story.image().config().withHold(seconds);
    assertThat(Release.ofChange(story.image(), changed, Instant.ofEpochSecond(story.now())))
        .isEqualTo(new Result.Hold(2, shortened, released));
  }
}
