// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceConfig.StageSettings;
import io.fairlead.controller.resources.stages.StageRules;
import java.util.Optional;

/** What the settings of staged changes may be, and what they are by default. */
final class StageSettingsRules {
  private static final String NONE = "none";
  private static final int FACTOR_MIN = 100;
  private static final int FACTOR_MAX = 10_000;
  private static final int EVENTS_MAX = 1_000_000;

  private StageSettingsRules() {}

  /** With the settings that are asked for; those that are not stay, or have their defaults. */
  static ServiceConfig with(ServiceConfig config, Optional<ServiceSpec.StageSettings> asked) {
    return asked
        .map(
            given ->
                config.toBuilder()
                    .stageSettings(Optional.of(settings(config.stagesOrDefault(), given)))
                    .build())
        .orElse(config);
  }

  private static StageSettings settings(StageSettings before, ServiceSpec.StageSettings given) {
    int bake =
        StageRules.bake(
            "stageSettings.bakeSeconds", given.bakeSeconds().orElse(before.bakeSeconds()));
    Optional<String> stages = given.stages().or(before::stages).filter(text -> !text.equals(NONE));
    stages.ifPresent(text -> StageRules.steps("stageSettings.stages", text, bake));
    return new StageSettings(
        stages,
        bake,
        ServiceRules.inRange(
            "stageSettings.factorPercent",
            given.factorPercent().orElse(before.factorPercent()),
            FACTOR_MIN,
            FACTOR_MAX),
        ServiceRules.inRange(
            "stageSettings.minimumEvents",
            given.minimumEvents().orElse(before.minimumEvents()),
            1,
            EVENTS_MAX));
  }
}
