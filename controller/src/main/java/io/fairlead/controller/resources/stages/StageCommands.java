// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.stages;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.cli.Write;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The staged change of a service. */
@Command(
    name = "stage",
    description = "The staged change of a service.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      StageCommands.Show.class,
      StageCommands.Advance.class,
      StageCommands.RollBack.class
    })
public final class StageCommands {
  private StageCommands() {}

  /** A staged change in a line. */
  public static String words(JsonNode staging) {
    String share = Table.percent(staging.path("share").asDouble());
    if (staging.has("why")) {
      return "%s at %s, %s: %s"
          .formatted(
              staging.path("state").asText().replace('_', ' '),
              share,
              Instant.ofEpochSecond(staging.path("ended").asLong()),
              staging.path("why").asText());
    }
    JsonNode backends = staging.path("backends");
    return "%s of the buckets of %s moved, %s %s"
        .formatted(
            share,
            backends.size() == 1
                ? "backend " + backends.path(0).asText()
                : backends.size() + " backends",
            staging.has("next") ? Table.percent(staging.path("next").asDouble()) + " due" : "ends",
            Instant.ofEpochSecond(staging.path("due").asLong()));
  }

  @Command(
      name = "show",
      description = "Shows the latest staged change of a service and what agents report of it.",
      footerHeading = "%nExample:%n",
      footer = "  fairleadctl stage show web")
  static final class Show extends Verb {
    @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
    private String service;

    @Override
    public Integer call() {
      print(api().get(servicePath(service) + "/stage"), this::printStage);
      return 0;
    }

    private void printStage(JsonNode status) {
      if (!status.has("staging")) {
        printf("no change of service %s was staged%n", service);
        return;
      }
      Fields fields = new Fields();
      fields.add("staged change", words(status.path("staging")));
      if (status.has("verdict")) {
        fields.add(
            "verdict",
            "%s: %s"
                .formatted(
                    status.path("verdict").asText().replace('_', ' '),
                    status.path("words").asText()));
      }
      fields.print(out());
      if (!status.path("signals").isEmpty()) {
        Table table =
            new Table("BACKEND", "OPENED", "REFUSED", "RESET", "SEGMENTS", "SENT AGAIN", "RTT");
        status
            .path("signals")
            .forEach(each -> row(table, each.path("backend").asText(), each.path("counts")));
        row(table, "others", status.path("others"));
        table.print(out());
      }
    }

    private static void row(Table table, String who, JsonNode counts) {
      table.row(
          who,
          counts.path("opened").asText(),
          counts.path("refused").asText(),
          counts.path("resets").asText(),
          counts.path("segments").asText(),
          counts.path("retransmitted").asText(),
          String.format(Locale.ROOT, "%.1f ms", counts.path("rttMillis").asDouble()));
    }
  }

  private abstract static class OfStage extends Write {
    @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
    private String service;

    @Option(
        names = "--force",
        description =
            "Allow it even if full buckets lose a former owner, whose connections then break.")
    private boolean isForce;

    @Override
    protected List<String> parameters() {
      return isForce ? List.of("force=true") : List.of();
    }

    final int write(String verb, String past, String plan) {
      return write(
          "POST",
          servicePath(service) + "/stage/" + verb,
          MissingNode.getInstance(),
          past + service,
          plan + service);
    }
  }

  @Command(
      name = "advance",
      description = "Takes the next step of a staged change now, whatever agents report.",
      footerHeading = "%nExample:%n",
      footer = "  fairleadctl stage advance web")
  static final class Advance extends OfStage {
    @Override
    public Integer call() {
      return write(
          "advance", "advanced the staged change of ", "would advance the staged change of ");
    }
  }

  @Command(
      name = "rollback",
      description = "Undoes a staged change: the former weights come back.",
      footerHeading = "%nExample:%n",
      footer = {
        "  fairleadctl stage rollback web",
        "",
        "Backends that were not in service before are drained; 'fairleadctl backend",
        "undrain' gives them their weight."
      })
  static final class RollBack extends OfStage {
    @Override
    public Integer call() {
      return write(
          "rollback", "rolled back the staged change of ", "would roll back the staged change of ");
    }
  }
}
