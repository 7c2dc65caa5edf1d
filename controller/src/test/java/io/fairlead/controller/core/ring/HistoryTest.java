// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HistoryTest {
  private static final List<Integer> WINDOWS = List.of(1, 240, 86_400, Integer.MAX_VALUE);

  /** At the ends of signed and unsigned seconds, too. */
  @ParameterizedTest
  @ValueSource(longs = {0, 1, 1_700_000_000, (1L << 31) - 1, 1L << 31, (1L << 32) - 1})
  void itIsOpenWhileAnOwnerIs(long newest) {
    History one = History.NONE.with(7, newest);
    History two = History.NONE.with(9, newest / 2).with(7, newest);
    for (int window : WINDOWS) {
      for (long now : new long[] {0, newest, newest + window - 1, newest + window, 1L << 33}) {
        for (History history : List.of(History.NONE, one, two)) {
          assertThat(history.isOpen(now, window))
              .as("%s at %d, window %d", history, now, window)
              .isEqualTo(history.open(now, window) > 0);
        }
      }
    }
  }
}
