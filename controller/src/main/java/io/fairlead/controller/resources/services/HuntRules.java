// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Hunt;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.core.words.HuntPolicy;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.Optional;

/** What the settings of steering {@code hunt} may be; their defaults are those of the paper. */
final class HuntRules {
  private static final int DYNAMIC_THRESHOLD = 1;
  private static final int STATIC_THRESHOLD = 4;
  private static final int WINDOW = 50;
  private static final int EPSILON_THOUSANDTHS = 100;

  private HuntRules() {}

  /**
   * With the settings that are asked for; those that are not stay, or have their defaults. Another
   * policy comes with its own default threshold.
   *
   * @param before of the service, empty if it is new or specified as a whole
   */
  static ServiceConfig with(
      ServiceConfig config, Optional<ServiceSpec.Hunt> asked, Optional<Hunt> before) {
    if (config.steering() != SteeringMethod.HUNT) {
      asked.ifPresent(
          any -> {
            throw Refusal.invalid(
                "hunt", "settings", "no hunt, as steering is %s".formatted(config.steering()));
          });
      return config;
    }
    HuntPolicy policy =
        asked
            .flatMap(ServiceSpec.Hunt::policy)
            .map(word -> ServiceRules.word("hunt.policy", word, HuntPolicy.class))
            .or(() -> before.map(Hunt::policy))
            .orElse(HuntPolicy.DYNAMIC);
    Hunt hunt =
        new Hunt(
            policy,
            ServiceRules.inRange(
                "hunt.threshold",
                asked
                    .flatMap(ServiceSpec.Hunt::threshold)
                    .or(() -> before.filter(h -> h.policy() == policy).map(Hunt::threshold))
                    .orElse(policy == HuntPolicy.STATIC ? STATIC_THRESHOLD : DYNAMIC_THRESHOLD),
                1,
                65_535),
            ServiceRules.inRange(
                "hunt.window",
                asked
                    .flatMap(ServiceSpec.Hunt::window)
                    .or(() -> before.map(Hunt::window))
                    .orElse(WINDOW),
                10,
                1000),
            ServiceRules.inRange(
                "hunt.epsilonThousandths",
                asked
                    .flatMap(ServiceSpec.Hunt::epsilonThousandths)
                    .or(() -> before.map(Hunt::epsilonThousandths))
                    .orElse(EPSILON_THOUSANDTHS),
                0,
                499));
    return config.toBuilder().hunt(Optional.of(hunt)).build();
  }
}
