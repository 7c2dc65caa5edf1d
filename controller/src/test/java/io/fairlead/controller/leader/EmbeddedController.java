// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.SettableClock;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A test with a controller that leads, on a real embedded ZooKeeper. */
abstract class EmbeddedController {
  protected static final long NOW = 1_700_000_000;

  @TempDir protected Path directory;
  protected final SettableClock clock = new SettableClock(NOW);
  protected FairleadController controller;

  @BeforeEach
  final void open() throws Exception {
    controller =
        Controllers.open(
            ControllerOptions.of(
                    "embedded:" + directory, FreePorts.nextAddress(), "/fairlead", "test", clock)
                .withMonotonic(clock::seconds)
                .withClockCheck(false));
    assertThat(controller.awaitLeader(Duration.ofSeconds(30))).isTrue();
  }

  @AfterEach
  final void close() {
    controller.close();
  }
}
