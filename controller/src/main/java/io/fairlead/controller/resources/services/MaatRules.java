// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import static io.fairlead.controller.resources.services.ServiceRules.inRange;
import static io.fairlead.controller.resources.services.ServiceRules.word;

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
    if (!ServiceRules.has(config, SteeringMethod.MAAT, "settings", asked)) {
      return config;
    }
    ServiceSpec.Maat given = asked.orElse(ServiceSpec.Maat.NOTHING);
    Optional<Preset> preset = given.preset().map(text -> word("maat.preset", text, Preset.class));
    if (preset.isPresent() && before.isPresent()) {
      throw Refusal.invalid(
          "maat.preset", preset.get().word(), "no preset in a change; name the settings");
    }
    Maat others = before.or(() -> preset.map(some -> some.values)).orElse(DEFAULT);
    int delta = given.deltaThousandths().orElse(others.deltaThousandths());
    int halfLife = given.halfLifeMillis().orElse(others.halfLifeMillis());
    int hashes = given.filterHashes().orElse(others.filterHashes());
    Maat maat =
        new Maat(
            given.load().map(text -> word("maat.load", text, MaatLoad.class)).orElse(others.load()),
            inRange("maat.deltaThousandths", delta, 0, 1000),
            inRange("maat.halfLifeMillis", halfLife, 10, 60_000),
            filter(given.filterBytes().orElse(others.filterBytes())),
            inRange("maat.filterHashes", hashes, 1, 8));
    return config.toBuilder().maat(Optional.of(maat)).build();
  }

  private static int filter(int bytes) {
    if (Integer.bitCount(bytes) != 1 || bytes < FILTER_MIN || bytes > FILTER_MAX) {
      throw Refusal.invalid("maat.filterBytes", bytes, "a power of two in 1024..16777216");
    }
    return bytes;
  }
}
