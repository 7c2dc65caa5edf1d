// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Port;
import io.fairlead.controller.core.image.ServiceConfig.QuicServerId;
import io.fairlead.controller.core.image.ServiceConfigBuilder;
import io.fairlead.controller.core.steering.Steering.Violation;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.core.words.Hash;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class OthelloSteeringTest {
  private record Row(UnaryOperator<ServiceConfigBuilder> with, List<String> fields) {}

  private static final List<Row> ROWS =
      List.of(
          new Row(config -> config, List.of()),
          new Row(config -> config.buckets(65_536), List.of()),
          new Row(config -> config.hash(Hash.CRC32).hashKey(""), List.of()),
          new Row(
              config -> config.mptcpPorts(Optional.of(new ServiceConfig.MptcpPorts(1000, 2000))),
              List.of()),
          new Row(config -> config.buckets(131_072), List.of("buckets")),
          new Row(
              config -> config.ports(List.of(new Port("tcp", 443), new Port("udp", 443))),
              List.of("ports")),
          new Row(config -> config.encap(Encap.IPIP), List.of("encap")),
          new Row(config -> config.holdSeconds(1), List.of("holdSeconds")),
          new Row(
              config -> config.quicServerId(Optional.of(new QuicServerId(1, 2))),
              List.of("quicServerId")),
          new Row(
              config -> config.statelessUdp(true).ports(List.of(new Port("udp", 53))),
              List.of("ports", "statelessUdp")));

  @Test
  void whatIsNotAllowedIsNamed() {
    for (Row row : ROWS) {
      ServiceConfig config =
          row.with()
              .apply(
                  ServiceConfig.builder(1, "web")
                      .ports(List.of(new Port("tcp", 80)))
                      .buckets(256)
                      .windowSeconds(240))
              .build();
      assertThat(SteeringMethod.OTHELLO.steering().check(config))
          .extracting(Violation::field)
          .containsExactlyElementsOf(row.fields());
    }
  }
}
