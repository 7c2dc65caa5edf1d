// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.SettingOption;
import picocli.CommandLine.Option;

/** The options of staged changes that {@code service create} and {@code change} share. */
final class StageSettingsOptions {
  @SettingOption("/stageSettings/stages")
  @Option(
      names = "--stages",
      paramLabel = "LIST",
      description =
          "Steps in which changed weights take effect, such as 1%%,10%%,100%%; or none. New"
              + " services: none")
  private String stages;

  @SettingOption("/stageSettings/bakeSeconds")
  @Option(
      names = "--stage-bake",
      paramLabel = "SECONDS",
      description = "How long each step lasts, 1..86400. Default: 60")
  private Integer bakeSeconds;

  @SettingOption("/stageSettings/factorPercent")
  @Option(
      names = "--stage-factor",
      paramLabel = "PERCENT",
      description =
          "Of the others' rate of resets, refusals or retransmissions, what a changed backend may"
              + " have. Default: 200")
  private Integer factorPercent;

  @SettingOption("/stageSettings/minimumEvents")
  @Option(
      names = "--stage-minimum",
      paramLabel = "N",
      description = "Events of one kind below which nothing is rolled back. Default: 3")
  private Integer minimumEvents;

  /** Adds the service's settings, if it has some. */
  static void show(JsonNode service, Fields fields) {
    JsonNode settings = service.path("stageSettings");
    if (settings.isObject()) {
      fields.add("stages", settings.path("stages").asText("none"));
      fields.add(
          "stage limits",
          "%s s each, %s %% of the others' rate, from %s events on"
              .formatted(
                  settings.path("bakeSeconds").asText(),
                  settings.path("factorPercent").asText(),
                  settings.path("minimumEvents").asText()));
    }
  }
}
