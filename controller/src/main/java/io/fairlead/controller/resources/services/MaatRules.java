// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Maat;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.MaatLoad;
import io.fairlead.controller.core.words.Word;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.Optional;

/** What the settings of steering {@code maat} may be, and what they are by default. */
final class MaatRules {
  /** Where neither the request nor a preset says more. */
  private static final Maat DEFAULT = new Maat(MaatLoad.PACKETS, 10, 1000, 65_536, 3);

  private static final int FILTER_MIN = 1024;
  private static final int FILTER_MAX = 16_777_216;

  private MaatRules() {}

  /** Other defaults. */
  enum Preset implements Word {
    /**
     * The values of the Maat paper as far as they can be: its Delta of 100,000 packets is a tenth
     * of the mean load in its runs, its loads never decay, its 5.6 KiB of 2-bit counters are
     * 22,938, which here take a byte each. It does not say how many hashes it has.
     */
    PAPER(new Maat(MaatLoad.PACKETS, 100, 60_000, 32_768, 3));

    private final Maat values;

    Preset(Maat values) {
      this.values = values;
    }
  }

  /**
   * The configuration with the settings that are asked for; those that are not stay, or have their
   * defaults.
   *
   * @param before of the service, empty if it is new or specified as a whole
   */
  static ServiceConfig with(
      ServiceConfig config, Optional<ServiceSpec.Maat> asked, Optional<Maat> before) {
    if (config.steering() != SteeringMethod.MAAT) {
      asked.ifPresent(
          any -> {
            throw Refusal.invalid(
                "maat", "settings", "no maat, as steering is %s".formatted(config.steering()));
          });
      return config;
    }
    Optional<Preset> preset =
        asked
            .flatMap(ServiceSpec.Maat::preset)
            .map(word -> ServiceRules.word("maat.preset", word, Preset.class));
    if (preset.isPresent() && before.isPresent()) {
      throw Refusal.invalid(
          "maat.preset", preset.get().word(), "no preset in a change; name the settings");
    }
    Maat others = before.or(() -> preset.map(some -> some.values)).orElse(DEFAULT);
    Maat maat =
        new Maat(
            asked
                .flatMap(ServiceSpec.Maat::load)
                .map(word -> ServiceRules.word("maat.load", word, MaatLoad.class))
                .orElse(others.load()),
            ServiceRules.inRange(
                "maat.deltaThousandths",
                asked.flatMap(ServiceSpec.Maat::deltaThousandths).orElse(others.deltaThousandths()),
                0,
                1000),
            ServiceRules.inRange(
                "maat.halfLifeMillis",
                asked.flatMap(ServiceSpec.Maat::halfLifeMillis).orElse(others.halfLifeMillis()),
                10,
                60_000),
            filter(asked.flatMap(ServiceSpec.Maat::filterBytes).orElse(others.filterBytes())),
            ServiceRules.inRange(
                "maat.filterHashes",
                asked.flatMap(ServiceSpec.Maat::filterHashes).orElse(others.filterHashes()),
                1,
                8));
    return config.toBuilder().maat(Optional.of(maat)).build();
  }

  private static int filter(int bytes) {
    if (Integer.bitCount(bytes) != 1 || bytes < FILTER_MIN || bytes > FILTER_MAX) {
      throw Refusal.invalid("maat.filterBytes", bytes, "a power of two in 1024..16777216");
    }
    return bytes;
  }
}
