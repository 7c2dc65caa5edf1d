// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.SettingOption;
import picocli.CommandLine.Option;

/** The options of steering by load that {@code service create} and {@code change} share. */
final class LoadSettings {
  @SettingOption("/hunt/policy")
  @Option(
      names = "--hunt-policy",
      paramLabel = "POLICY",
      description =
          "hunt: when servers refuse new connections: dynamic (new services), static or always.")
  private String policy;

  @SettingOption("/hunt/threshold")
  @Option(
      names = "--hunt-threshold",
      paramLabel = "N",
      description =
          "hunt: busy connections at which a server refuses, 1..65535. Default: 1; with static 4")
  private Integer threshold;

  @SettingOption("/hunt/window")
  @Option(
      names = "--hunt-window",
      paramLabel = "N",
      description =
          "hunt, dynamic: new connections after which the threshold adapts, 10..1000. Default: 50")
  private Integer window;

  @SettingOption("/hunt/epsilonThousandths")
  @Option(
      names = "--hunt-epsilon",
      paramLabel = "THOUSANDTHS",
      description =
          "hunt, dynamic: how far the accepted share may be from half, 0..499. Default: 100")
  private Integer epsilon;

  @SettingOption("/maat/load")
  @Option(
      names = "--maat-load",
      paramLabel = "WHAT",
      description =
          "maat: what counts as load: packets (new services), bytes, connections or agents.")
  private String load;

  @SettingOption("/maat/deltaThousandths")
  @Option(
      names = "--maat-delta",
      paramLabel = "THOUSANDTHS",
      description =
          "maat: smallest difference of load that matters, relative to the mean, 0..1000. Default:"
              + " 10")
  private Integer delta;

  @SettingOption("/maat/halfLifeMillis")
  @Option(
      names = "--maat-half-life",
      paramLabel = "MS",
      description = "maat: half-life of measured load, 10..60000. Default: 1000")
  private Integer halfLife;

  @SettingOption("/maat/filterBytes")
  @Option(
      names = "--maat-filter",
      paramLabel = "BYTES",
      description =
          "maat: size of each mux's Bloom filter, a power of two in 1024..16777216. Default: 65536")
  private Integer filter;

  @SettingOption("/maat/filterHashes")
  @Option(
      names = "--maat-hashes",
      paramLabel = "N",
      description = "maat: hashes of the filter, 1..8. Default: 3")
  private Integer hashes;

  /** Adds what a service has of them. */
  static void show(JsonNode service, Fields fields) {
    JsonNode hunt = service.path("hunt");
    if (hunt.isObject()) {
      fields.add(
          "hunt",
          "%s, threshold %s, window %s, epsilon %s/1000"
              .formatted(
                  hunt.path("policy").asText(),
                  hunt.path("threshold").asText(),
                  hunt.path("window").asText(),
                  hunt.path("epsilonThousandths").asText()));
    }
    JsonNode maat = service.path("maat");
    if (maat.isObject()) {
      fields.add(
          "maat",
          "load by %s, delta %s/1000, half-life %s ms, filter %s bytes, %s hashes"
              .formatted(
                  maat.path("load").asText(),
                  maat.path("deltaThousandths").asText(),
                  maat.path("halfLifeMillis").asText(),
                  maat.path("filterBytes").asText(),
                  maat.path("filterHashes").asText()));
    }
  }
}
