// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;

@Command(
    name = "muxes",
    description = "Lists the muxes that are added, and the generations that they have applied.",
    footerHeading = "%nExample:%n",
    footer = "  fairleadctl muxes")
public final class MuxesCommand extends Verb {
  private static final int NAMED = 8;

  @Override
  public Integer call() {
    print(api().get("/v1/muxes"), this::printMuxes);
    return 0;
  }

  private void printMuxes(JsonNode muxes) {
    if (muxes.isEmpty()) {
      out().println("no mux is added; fairleadctl mux add ID does so");
      return;
    }
    Table table =
        new Table("MUX", "KIND", "ADDRESS", "VERSION", "PORTS", "SERVICE", "GENERATION", "STATE");
    for (JsonNode mux : muxes) {
      List<String> ports = new ArrayList<>();
      mux.path("ports").forEach(port -> ports.add(port.asText()));
      List<String> addresses = new ArrayList<>();
      for (String family : List.of("address", "address6")) {
        if (mux.has(family)) {
          addresses.add(mux.path(family).asText());
        }
      }
      String[] row = {
        mux.path("id").asText(),
        mux.path("kind").asText("-"),
        String.join(" ", addresses),
        mux.path("version").asText("-"),
        String.join(" ", ports),
        "-",
        "-",
        mux.path("alive").asBoolean() ? "-" : "absent"
      };
      if (mux.path("services").isEmpty()) {
        table.row(row);
      }
      for (Map.Entry<String, JsonNode> service : mux.path("services").properties()) {
        String[] copy = row.clone();
        copy[5] = service.getKey();
        copy[6] = service.getValue().path("generation").asText();
        copy[7] = state(service.getValue());
        table.row(copy);
      }
    }
    table.print(out());
    muxes.forEach(this::printLimits);
  }

  /** What a mux does not serve, and why. */
  private void printLimits(JsonNode mux) {
    String id = mux.path("id").asText();
    List<String> limits = new ArrayList<>();
    for (String field : List.of("encap", "steering")) {
      JsonNode words = mux.path("serves").path(field);
      if (words.isArray()) {
        List<String> listed = new ArrayList<>();
        words.forEach(word -> listed.add(word.asText()));
        limits.add(field + " " + (listed.isEmpty() ? "none" : String.join(", ", listed)));
      }
    }
    if (mux.path("serves").has("buckets")) {
      limits.add("at most %s buckets".formatted(mux.path("serves").path("buckets").asText()));
    }
    if (!limits.isEmpty()) {
      printf("%s serves services with %s%n", id, String.join("; ", limits));
    }
    printUnreachable(id, mux);
    for (Map.Entry<String, JsonNode> service : mux.path("services").properties()) {
      if (service.getValue().has("why")) {
        printf(
            "%s refuses of %s: %s%n",
            id, service.getKey(), service.getValue().path("why").asText());
      }
    }
  }

  /** The backends that a mux can't send to, and why. */
  private void printUnreachable(String id, JsonNode mux) {
    JsonNode unreachable = mux.path("unreachable");
    List<String> named = new ArrayList<>();
    unreachable.properties().stream()
        .limit(NAMED)
        .forEach(each -> named.add(each.getKey() + ": " + each.getValue().asText()));
    long more = unreachable.size() - named.size() + mux.path("unreachableMore").asLong();
    if (more > 0) {
      named.add("%d more".formatted(more));
    }
    if (!named.isEmpty()) {
      printf("%s can't send to %s%n", id, String.join(", ", named));
    }
  }

  private static String state(JsonNode service) {
    String state = service.path("state").asText();
    if (service.has("withdrawn")) {
      state += ", withdrawn: " + service.path("withdrawn").asText();
    }
    if (service.has("refused")) {
      state += ", refused: " + service.path("refused").asText();
    }
    return state;
  }
}
