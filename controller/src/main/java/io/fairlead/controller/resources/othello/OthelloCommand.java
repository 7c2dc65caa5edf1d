// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Verb;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "othello",
    description = "Shows the arrays of a service steered by othello, and what they wait for.",
    footerHeading = "%nExample:%n",
    footer = "  fairleadctl othello web")
public final class OthelloCommand extends Verb {
  @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
  private String name;

  @Override
  public Integer call() {
    print(api().get(servicePath(name) + "/othello"), this::printStatus);
    return 0;
  }

  private void printStatus(JsonNode status) {
    Fields fields = new Fields();
    fields.add("connections", status.path("connections").asText());
    fields.add("arrays", arrays(status.path("arrays")));
    fields.add(
        "miscoded",
        "%s, %s of them without a bucket"
            .formatted(status.path("miscoded").asText(), status.path("homeless").asText()));
    List<String> kept = new ArrayList<>();
    status
        .path("keptBuckets")
        .properties()
        .forEach(each -> kept.add("%s of backend %s".formatted(each.getValue(), each.getKey())));
    fields.add("kept buckets", kept.isEmpty() ? "none" : String.join(", ", kept));
    fields.add("waiting for", waiting(status));
    if (status.has("damage")) {
      fields.add("damage", status.path("damage").asText());
    }
    if (status.has("fallback")) {
      fields.add("fallback", status.path("fallback").asText());
    }
    fields.add(
        "times",
        "age %s s, spacing %s s, lag %s s, window %s s"
            .formatted(
                status.path("reportAgeSeconds").asText(),
                status.path("spacingSeconds").asText(),
                status.path("lagSeconds").asText(),
                status.path("windowSeconds").asText()));
    JsonNode refused = status.path("refusedClaims");
    fields.add(
        "refused claims",
        "%s implausible, %s contested"
            .formatted(refused.path("implausible").asText(), refused.path("contested").asText()));
    fields.print(out());
  }

  private static String arrays(JsonNode arrays) {
    if (arrays.isMissingNode()) {
      return "none, the low bits of the hash are the bucket";
    }
    String before =
        arrays.has("previous")
            ? ", generation %s before".formatted(arrays.path("previous").asText())
            : ", settled";
    return "generation %s%s, %s + %s cells, %s patches, %s bytes"
        .formatted(
            arrays.path("generation").asText(),
            before,
            arrays.path("cellsA").asText(),
            arrays.path("cellsB").asText(),
            arrays.path("patches").asText(),
            arrays.path("bytes").asText());
  }

  private static String waiting(JsonNode status) {
    JsonNode waiting = status.path("waitingFor");
    if (waiting.isMissingNode()) {
      return "nothing";
    }
    List<String> words = new ArrayList<>();
    if (!waiting.path("agents").isEmpty()) {
      words.add("reports about backends " + joined(waiting.path("agents")));
    }
    if (!waiting.path("muxes").isEmpty()) {
      words.add("muxes " + joined(waiting.path("muxes")));
    }
    if (waiting.path("spacingSeconds").asLong() > 0) {
      words.add(waiting.path("spacingSeconds").asText() + " s of spacing");
    }
    return String.join("; ", words);
  }

  private static String joined(JsonNode list) {
    List<String> words = new ArrayList<>();
    list.forEach(each -> words.add(each.asText()));
    return String.join(", ", words);
  }
}
