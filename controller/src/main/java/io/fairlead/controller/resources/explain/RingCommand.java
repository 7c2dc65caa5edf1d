// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "ring",
    description = "Shows which backend owns which buckets.",
    footerHeading = "%nExamples:%n",
    footer = {"  fairleadctl ring web", "  fairleadctl ring web -o json | jq '.runs[\"5\"]'"})
public final class RingCommand extends Verb {
  private static final int LISTED_RUNS = 4;

  @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
  private String service;

  @Override
  public Integer call() {
    print(api().get(servicePath(service) + "/ring"), this::printRing);
    return 0;
  }

  private void printRing(JsonNode ring) {
    long buckets = ring.path("buckets").asLong();
    printf("%s: %d buckets, generation %d%n", service, buckets, ring.path("generation").asLong());
    Table table = new Table("BACKEND", "BUCKETS", "SHARE", "RUNS");
    for (Map.Entry<String, JsonNode> backend : ring.path("runs").properties()) {
      long owned = 0;
      List<String> listed = new ArrayList<>();
      for (JsonNode run : backend.getValue()) {
        long start = run.path(0).asLong();
        long count = run.path(1).asLong();
        owned += count;
        if (listed.size() < LISTED_RUNS) {
          listed.add("%d-%d".formatted(start, start + count - 1));
        }
      }
      int more = backend.getValue().size() - listed.size();
      table.row(
          backend.getKey().equals("0") ? "none" : backend.getKey(),
          Long.toString(owned),
          Table.percent(owned, buckets),
          String.join(" ", listed) + (more > 0 ? " and %d more".formatted(more) : ""));
    }
    table.print(out());
    if (ring.has("chained")) {
      printChained(ring.path("chained"));
    }
  }

  private void printChained(JsonNode chained) {
    if (chained.isEmpty()) {
      out().println("held: no buckets");
      return;
    }
    Table table = new Table("FORMER OWNER", "CHAINED", "SINCE", "UNTIL AT LATEST");
    for (Map.Entry<String, JsonNode> owner : chained.properties()) {
      table.row(
          owner.getKey(),
          owner.getValue().path("buckets").asText(),
          Instant.ofEpochSecond(owner.getValue().path("since").asLong()).toString(),
          Instant.ofEpochSecond(owner.getValue().path("until").asLong()).toString());
    }
    out().println();
    table.print(out());
    printf("for how many connections: fairleadctl holds %s%n", service);
  }
}
