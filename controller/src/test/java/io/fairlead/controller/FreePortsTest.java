// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.BindException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FreePortsTest {
  @Test
  void portsAreOutsideTheEphemeralRangeAndDiffer() {
    int[] ephemeral = FreePorts.ephemeral();
    Set<Integer> seen = new HashSet<>();
    for (int i = 0; i < 50; i++) {
      int port = FreePorts.next();
      assertThat(port).isBetween(10_000, 65_535);
      assertThat(port < ephemeral[0] || port > ephemeral[1]).as("%d is outside", port).isTrue();
      assertThat(seen.add(port)).as("%d is given out once", port).isTrue();
    }
  }

  /** As another process would see it, which claims by the same rule. */
  @Test
  void aPortStaysClaimedAndAServerCanBindItAgainAndAgain() throws IOException {
    int port = FreePorts.next();
    for (int i = 0; i < 3; i++) {
      new ServerSocket(port).close();
      assertThatThrownBy(() -> new DatagramSocket(port, InetAddress.getLoopbackAddress()))
          .isInstanceOf(BindException.class);
    }
  }
}
