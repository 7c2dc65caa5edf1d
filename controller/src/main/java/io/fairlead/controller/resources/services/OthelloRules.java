// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.Othello;
import io.fairlead.controller.core.steering.SteeringMethod;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.Optional;

/** What the times of steering {@code othello} may be, and what they are by default. */
final class OthelloRules {
  /** What muxes and reports take at least. */
  private static final int LAG_SECONDS = 2;

  private OthelloRules() {}

  /**
   * With the times that are asked for; those that are not stay, or have their defaults: a quarter
   * and a half of the window.
   *
   * @param before of the service, empty if it is new or specified as a whole
   */
  static ServiceConfig with(
      ServiceConfig config, Optional<ServiceSpec.Othello> asked, Optional<Othello> before) {
    if (!ServiceRules.has(config, SteeringMethod.OTHELLO, "times", asked)) {
      return config;
    }
    int window = config.windowSeconds();
    ServiceSpec.Othello given = asked.orElse(ServiceSpec.Othello.NOTHING);
    Othello others = before.orElse(new Othello(Math.max(1, window / 4), Math.max(1, window / 2)));
    int age = given.reportAgeSeconds().orElse(others.reportAgeSeconds());
    int spacing = given.spacingSeconds().orElse(others.spacingSeconds());
    check(age, spacing, window);
    return config.toBuilder().othello(Optional.of(new Othello(age, spacing))).build();
  }

  /**
   * A connection that is reported just too late for some arrays is in the next ones before a window
   * ends, unless these wait for anything else.
   */
  private static void check(int age, int spacing, int window) {
    if (age < 1) {
      throw Refusal.invalid("othello.reportAgeSeconds", age, "1 and more");
    }
    if (spacing < 1) {
      throw Refusal.invalid("othello.spacingSeconds", spacing, "1 and more");
    }
    long sum = (long) age + Math.max(spacing, age + Othello.HANDSHAKE_SECONDS) + LAG_SECONDS;
    if (sum > window) {
      throw Refusal.invalid(
          "othello",
          "reportAgeSeconds %d and spacingSeconds %d".formatted(age, spacing),
          ("at most windowSeconds %d for the age, the longer of spacing and age + 2, and 2 of lag;"
                  + " now %d")
              .formatted(window, sum));
    }
  }
}
