// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ZooKeeperAddressTest {
  @Test
  void aDirectoryOrHosts() {
    assertThat(ZooKeeperAddress.parse("embedded:/var/lib/fairlead").directory())
        .contains(Path.of("/var/lib/fairlead"));
    assertThat(ZooKeeperAddress.parse("zk1:2181,[2001:db8::1]:2181").hosts())
        .isEqualTo("zk1:2181,[2001:db8::1]:2181");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "embedded:",
        "zk1",
        "zk1:",
        "zk1:0",
        "zk1:65536",
        "zk1:2181,",
        "a b:1",
        "zk1:2181/x"
      })
  void othersAreRefused(String text) {
    assertThatThrownBy(() -> ZooKeeperAddress.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("--zookeeper '" + text + "'")
        .hasMessageContaining("embedded:DIR or HOST:PORT");
  }
}
