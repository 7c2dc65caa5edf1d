// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.hold;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "holds",
    description = "Shows which buckets are held for connections that outlive the window.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl holds web",
      "  fairleadctl holds web -o json | jq '.owners[] | select(.unknown)'",
      "  fairleadctl holds web -o json | jq .waitingFor",
      "",
      "A bucket waits while a mux or a SYN cookie may still open connections at its",
      "former owner. Until then, a report of no connections does not release it."
    })
public final class HoldsCommand extends Verb {
  @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
  private String service;

  @Override
  public Integer call() {
    print(api().get(servicePath(service) + "/holds"), this::printHolds);
    return 0;
  }

  private void printHolds(JsonNode holds) {
    printf("%s: former owners count %s%n", service, holds.path("kept").asText());
    if (holds.path("holdSeconds").asInt() == 0) {
      return;
    }
    printf(
        "%s: %d buckets held, %d more chained within their window, generation %d%n",
        service,
        holds.path("heldBuckets").asInt(),
        holds.path("chainedBuckets").asInt() - holds.path("heldBuckets").asInt(),
        holds.path("generation").asLong());
    if (!holds.path("waitingFor").isEmpty()) {
      printf(
          "%d buckets wait; those that moved last wait for this:%n",
          holds.path("waitingBuckets").asInt());
    }
    for (JsonNode wait : holds.path("waitingFor")) {
      printf(
          "  %s%s%s%n",
          wait.has("mux") ? wait.path("mux").asText() + " " : "",
          wait.path("why").asText(),
          wait.has("until")
              ? "; until %s".formatted(Instant.ofEpochSecond(wait.path("until").asLong()))
              : "");
    }
    if (holds.path("owners").isEmpty()) {
      return;
    }
    Table table =
        new Table("FORMER OWNER", "ADDRESS", "BUCKETS", "SINCE", "UNTIL AT LATEST", "CONNECTIONS");
    for (JsonNode owner : holds.path("owners")) {
      table.row(
          owner.path("id").asText(),
          owner.path("address").asText(),
          owner.path("buckets").asText(),
          Instant.ofEpochSecond(owner.path("since").asLong()).toString(),
          Instant.ofEpochSecond(owner.path("until").asLong()).toString(),
          String.join("; ", connections(owner)));
    }
    table.print(out());
  }

  private static List<String> connections(JsonNode owner) {
    List<String> words = new ArrayList<>();
    if (owner.has("connections")) {
      words.add(
          "%s in %s buckets"
              .formatted(
                  owner.path("connections").asText(), owner.path("occupiedBuckets").asText()));
    }
    if (owner.has("unknown")) {
      words.add("unknown: " + owner.path("unknown").asText());
    }
    return words;
  }
}
