// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.http.Endpoint;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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
  @CsvSource(
      delimiter = '|',
      value = {
        "127.0.0.1:1,localhost:2,[::1]:3 | 10.1.0.5:2181 | true",
        "127.8.9.10:1 | 10.1.0.5:2181 | true",
        "127.0.0.1:1,10.1.0.5:2181 | 127.0.0.1:2181 | false",
        "127.0.0.1:1,zk1:2181 | 127.0.0.1:2181 | false",
        "[2001:db8::1]:2181 | 127.0.0.1:2181 | false",
        "0.0.0.0:2181 | 127.0.0.1:2181 | false",
        "embedded:data | 127.0.0.1:2181 | true",
        "embedded:data | 0.0.0.0:2181 | false",
        "embedded:data | c1:2181 | false",
      })
  void whoIsBeyondThisMachine(String text, String listen, boolean isLoopback) {
    assertThat(
            ZooKeeperAddress.parse(text).isLoopback(Endpoint.parse("--zookeeper-listen", listen)))
        .isEqualTo(isLoopback);
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
