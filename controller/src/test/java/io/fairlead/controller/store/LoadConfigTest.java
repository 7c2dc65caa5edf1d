// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Hunt;
import io.fairlead.controller.core.image.ServiceConfig.Maat;
import io.fairlead.controller.core.image.ServiceConfigBuilder;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.HuntPolicy;
import io.fairlead.controller.core.words.MaatLoad;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings of hunt and maat in ZooKeeper, where muxes read them, and loads. */
class LoadConfigTest {
  private static final String HUNT =
      "\"hunt\":{\"policy\":\"static\",\"threshold\":4,\"window\":50,\"epsilonThousandths\":100}";
  private static final String MAAT =
      "\"maat\":{\"load\":\"bytes\",\"deltaThousandths\":10,\"halfLifeMillis\":1000,"
          + "\"filterBytes\":65536,\"filterHashes\":3}";

  private static ServiceConfigBuilder app(SteeringMethod steering) {
    return ServiceConfig.builder(1, "app")
        .vips(List.of("10.99.0.1"))
        .ports(List.of(new ServiceConfig.Port("tcp", 80)))
        .buckets(256)
        .windowSeconds(240)
        .steering(steering);
  }

  private static ServiceConfig hunt() {
    return app(SteeringMethod.HUNT)
        .hunt(Optional.of(new Hunt(HuntPolicy.STATIC, 4, 50, 100)))
        .build();
  }

  private static ServiceConfig maat() {
    return app(SteeringMethod.MAAT)
        .maat(Optional.of(new Maat(MaatLoad.BYTES, 10, 1000, 65_536, 3)))
        .build();
  }

  private static String text(ServiceConfig config) {
    return new String(NodeJson.write(config), StandardCharsets.UTF_8);
  }

  private static ServiceConfig read(String json) throws StoreException {
    return NodeJson.readConfig(json.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void allKeysAreWrittenAndRead() throws StoreException {
    assertThat(text(hunt())).contains("\"steering\":\"hunt\"", HUNT).doesNotContain("maat");
    assertThat(text(maat())).contains("\"steering\":\"maat\"", MAAT).doesNotContain("hunt");
    assertThat(read(text(hunt()))).isEqualTo(hunt());
    assertThat(read(text(maat()))).isEqualTo(maat());
    assertThat(text(app(SteeringMethod.RING).build())).doesNotContain("hunt", "maat");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"policy\":\"static\" | \"policy\":\"busy\"",
        "\"policy\":\"static\", | ``",
        "\"threshold\":4, | ``",
        "\"threshold\":4 | \"threshold\":null",
        "\"window\":50 | \"window\":\"many\"",
        ",\"epsilonThousandths\":100 | ``",
        "\"load\":\"bytes\" | \"load\":\"cpu\"",
        "\"deltaThousandths\":10, | ``",
        "\"filterBytes\":65536 | \"filterBytes\":99999999999",
        ",\"filterHashes\":3 | ``",
      })
  void whatIsMissingOrWrongIsRefused(String from, String to) {
    String json = text(hunt()).contains(from) ? text(hunt()) : text(maat());
    assertThat(json).contains(from);
    assertThatThrownBy(() -> read(json.replace(from, to)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("config is not readable");
  }

  @Test
  void loadsAreByNumberOfTheBackend() {
    TreeMap<Integer, Long> loads = new TreeMap<>();
    loads.put(10, 0L);
    loads.put(9, 4_294_967_295L);
    assertThat(new String(NodeJson.write(Loads.of(loads)), StandardCharsets.UTF_8))
        .isEqualTo("{\"format\":1,\"loads\":{\"9\":4294967295,\"10\":0}}");
  }
}
