// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When a snapshot is due. */
class GenerationsTest {
  @ParameterizedTest
  @CsvSource({
    "20, 4, 1000, 251, true", // 16 deltas, more than a quarter
    "20, 4, 1000, 250, false",
    "19, 4, 1000, 251, false",
    "20, 4, 1000, 0, false", // no buckets moved
    "20, 19, 1000, 65537, true", // one large delta
    "20, 19, 1000, 65536, false",
    "20, 19, 1000000, 65537, false",
    "20, 20, 1000, 0, false",
  })
  void aSnapshotIsDueAfterManyDeltasOrLargeOnes(
      long latest, long snapshot, long snapshotBytes, long deltaBytes, boolean isDue) {
    Generations generations =
        new Generations(latest, Version.CREATED, snapshot, snapshotBytes, deltaBytes);
    assertThat(generations.isSnapshotDue()).isEqualTo(isDue);
  }
}
