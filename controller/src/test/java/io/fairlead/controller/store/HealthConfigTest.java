// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.image.HealthCheck;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.words.HealthKind;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Health checks in ZooKeeper, where probes read them. */
class HealthConfigTest {
  private static final String HTTP =
      "\"healthCheck\":{\"kind\":\"https\",\"port\":8443,\"path\":\"/\",\"host\":\"a.b\","
          + "\"verify\":false,\"expect\":{\"status\":\"200-399\",\"body\":\"ok\"},"
          + "\"intervalMillis\":5000,\"timeoutMillis\":2000,\"rise\":2,\"fall\":3,"
          + "\"jitterPercent\":10,"
          + "\"action\":{\"panicPercent\":50,\"maxOut\":\"50%\",\"withdraw\":false}}";

  private static ServiceConfig web(Optional<HealthCheck> check) {
    return ServiceConfig.builder(1, "web")
        .vips(List.of("10.99.0.1"))
        .ports(List.of(new ServiceConfig.Port("tcp", 80)))
        .buckets(256)
        .windowSeconds(240)
        .healthCheck(check)
        .build();
  }

  private static HealthCheck https() {
    return new HealthCheck(
        HealthKind.HTTPS,
        Optional.of(8443),
        Optional.of("/"),
        Optional.of("a.b"),
        Optional.of(false),
        Optional.empty(),
        Optional.empty(),
        Optional.of(
            new HealthCheck.Expect(Optional.of("200-399"), Optional.of("ok"), Optional.empty())),
        5000,
        2000,
        2,
        3,
        10,
        HealthCheck.Action.DEFAULT);
  }

  private static HealthCheck tcp() {
    return new HealthCheck(
        HealthKind.TCP,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        5000,
        2000,
        2,
        3,
        10,
        HealthCheck.Action.DEFAULT);
  }

  private static String text(ServiceConfig config) {
    return new String(NodeJson.write(config), StandardCharsets.UTF_8);
  }

  private static ServiceConfig read(String json) throws StoreException {
    return NodeJson.readConfig(json.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void allKeysAreWrittenAndRead() throws StoreException {
    assertThat(text(web(Optional.of(https())))).contains(HTTP);
    assertThat(text(web(Optional.empty()))).doesNotContain("healthCheck");
    for (HealthCheck check : List.of(https(), tcp())) {
      ServiceConfig config = web(Optional.of(check));
      assertThat(read(text(config))).isEqualTo(config);
    }
    String before = text(web(Optional.of(tcp()))).replaceFirst(",\"action\":\\{[^}]*}", "");
    assertThat(before).doesNotContain("action");
    assertThat(read(before)).as("of an older version").isEqualTo(web(Optional.of(tcp())));
    String killing =
        text(web(Optional.of(tcp()))).replace("w\":false}", "w\":false,\"dead\":true}");
    assertThat(read(killing).healthCheck().orElseThrow().action().dead()).contains(true);
    assertThat(text(read(killing))).isEqualTo(killing);
    assertThat(read(killing.replace("true}", "false}"))).isEqualTo(web(Optional.of(tcp())));
    assertThat(read(text(web(Optional.empty())))).isEqualTo(web(Optional.empty()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"kind\":\"https\" | \"kind\":\"icmp\"",
        "\"kind\":\"https\", | ``",
        "\"rise\":2, | ``",
        "\"rise\":2 | \"rise\":null",
        "\"port\":8443 | \"port\":\"https\"",
        "\"expect\":{ | \"expect\":[{",
      })
  void whatIsMissingOrWrongIsRefused(String from, String to) {
    String json = text(web(Optional.of(https())));
    assertThat(json).contains(from);
    assertThatThrownBy(() -> read(json.replace(from, to)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("config is not readable");
  }
}
