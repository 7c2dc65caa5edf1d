// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.generations;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "generations",
    description = {
      "Lists a service's latest generations, and which backends gained or lost buckets in each.",
      "Controllers keep the latest 50 since they started."
    },
    footerHeading = "%nExample:%n",
    footer = "  fairleadctl generations web")
public final class GenerationsCommand extends Verb {
  @Parameters(paramLabel = "SERVICE", description = "The service.")
  private String service;

  @Override
  public Integer call() {
    print(
        api().get(servicePath(service) + "/generations"),
        generations -> {
          Table table = new Table("GENERATION", "COMMITTED", "MOVED", "BUCKETS WON AND LOST");
          for (JsonNode change : generations.path("changes")) {
            table.row(
                change.path("generation").asText(),
                Instant.ofEpochSecond(change.path("committed").asLong()).toString(),
                change.path("movedBuckets").asText(),
                differences(change));
          }
          table.print(out());
        });
    return 0;
  }

  private static String differences(JsonNode change) {
    List<String> words = new ArrayList<>();
    for (JsonNode each : change.path("largest")) {
      String backend = each.path("backend").asInt() == 0 ? "none" : each.path("backend").asText();
      words.add("%s: %+d".formatted(backend, each.path("buckets").asInt()));
    }
    if (change.path("others").asInt() > 0) {
      words.add("and %s more".formatted(change.path("others").asText()));
    }
    return words.isEmpty() ? "-" : String.join(", ", words);
  }
}
