// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Fields;
import java.util.List;
import picocli.CommandLine.Option;

/** The options of steering by load that {@code service create} and {@code change} share. */
final class LoadSettings {
  static final List<String> NAMES =
      List.of(
          "--hunt-policy",
          "--hunt-threshold",
          "--hunt-window",
          "--hunt-epsilon",
          "--maat-load",
          "--maat-delta",
          "--maat-half-life",
          "--maat-filter",
          "--maat-hashes");

  @Option(
      names = "--hunt-policy",
      paramLabel = "POLICY",
      description =
          "hunt: when servers refuse new connections: dynamic (new services), static or always.")
  private String policy;

  @Option(
      names = "--hunt-threshold",
      paramLabel = "N",
      description =
          "hunt: busy connections at which a server refuses, 1..65535. Default: 1; with static 4")
  private Integer threshold;

  @Option(
      names = "--hunt-window",
      paramLabel = "N",
      description =
          "hunt, dynamic: new connections after which the threshold adapts, 10..1000. Default: 50")
  private Integer window;

  @Option(
      names = "--hunt-epsilon",
      paramLabel = "THOUSANDTHS",
      description =
          "hunt, dynamic: how far the accepted share may be from half, 0..499. Default: 100")
  private Integer epsilon;

  @Option(
      names = "--maat-load",
      paramLabel = "WHAT",
      description =
          "maat: what counts as load: packets (new services), bytes, connections or agents.")
  private String load;

  @Option(
      names = "--maat-delta",
      paramLabel = "THOUSANDTHS",
      description =
          "maat: smallest difference of load that matters, relative to the mean, 0..1000. Default:"
              + " 10")
  private Integer delta;

  @Option(
      names = "--maat-half-life",
      paramLabel = "MS",
      description = "maat: half-life of measured load, 10..60000. Default: 1000")
  private Integer halfLife;

  @Option(
      names = "--maat-filter",
      paramLabel = "BYTES",
      description =
          "maat: size of each mux's Bloom filter, a power of two in 1024..16777216. Default: 65536")
  private Integer filter;

  @Option(
      names = "--maat-hashes",
      paramLabel = "N",
      description = "maat: hashes of the filter, 1..8. Default: 3")
  private Integer hashes;

  /** Adds the fields of the options that were given. */
  void addTo(ObjectNode spec) {
    put(spec, "hunt", "policy", policy);
    put(spec, "hunt", "threshold", threshold);
    put(spec, "hunt", "window", window);
    put(spec, "hunt", "epsilonThousandths", epsilon);
    put(spec, "maat", "load", load);
    put(spec, "maat", "deltaThousandths", delta);
    put(spec, "maat", "halfLifeMillis", halfLife);
    put(spec, "maat", "filterBytes", filter);
    put(spec, "maat", "filterHashes", hashes);
  }

  static void put(ObjectNode spec, String method, String field, Object value) {
    if (value != null) {
      spec.withObject("/" + method).putPOJO(field, value);
    }
  }

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
