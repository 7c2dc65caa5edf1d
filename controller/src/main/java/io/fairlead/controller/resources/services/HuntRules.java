// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import static io.fairlead.controller.resources.services.ServiceRules.inRange;
import static io.fairlead.controller.resources.services.ServiceRules.word;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Hunt;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.HuntPolicy;
import java.util.Optional;

/** What the settings of steering {@code hunt} may be; their defaults are those of the paper. */
final class HuntRules {
  private static final Hunt DEFAULT = new Hunt(HuntPolicy.DYNAMIC, 1, 50, 100);
  private static final int STATIC_THRESHOLD = 4;

  private HuntRules() {}

  /**
   * With the settings that are asked for; those that are not stay, or have their defaults. Another
   * policy comes with its own default threshold.
   *
   * @param before of the service, empty if it is new or specified as a whole
   */
  static ServiceConfig with(
      ServiceConfig config, Optional<ServiceSpec.Hunt> asked, Optional<Hunt> before) {
    if (!ServiceRules.has(config, SteeringMethod.HUNT, "settings", asked)) {
      return config;
    }
    ServiceSpec.Hunt given = asked.orElse(ServiceSpec.Hunt.NOTHING);
    Hunt others = before.orElse(DEFAULT);
    HuntPolicy policy =
        given
            .policy()
            .map(word -> word("hunt.policy", word, HuntPolicy.class))
            .orElse(others.policy());
    int usual = policy == HuntPolicy.STATIC ? STATIC_THRESHOLD : DEFAULT.threshold();
    int threshold = policy == others.policy() ? others.threshold() : usual;
    int epsilon = given.epsilonThousandths().orElse(others.epsilonThousandths());
    Hunt hunt =
        new Hunt(
            policy,
            inRange("hunt.threshold", given.threshold().orElse(threshold), 1, 65_535),
            inRange("hunt.window", given.window().orElse(others.window()), 10, 1000),
            inRange("hunt.epsilonThousandths", epsilon, 0, 499));
    return config.toBuilder().hunt(Optional.of(hunt)).build();
  }
}
