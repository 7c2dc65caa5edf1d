// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.upkeep;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.SettingOption;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.cli.Write;
import java.time.Instant;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.TypeConversionException;

/** Repairs a ring, a few buckets at a time. */
public final class UpkeepCommands {
  private UpkeepCommands() {}

  /** A backend's measured load, {@code 7=812.5}. */
  record Load(int id, double load) {}

  static final class LoadConverter implements ITypeConverter<Load> {
    @Override
    public Load convert(String text) {
      if (!text.matches("[0-9]{1,5}=[0-9]+([.][0-9]+)?")) {
        throw new TypeConversionException("'%s' is refused; allowed: ID=LOAD".formatted(text));
      }
      String[] parts = text.split("=");
      return new Load(Integer.parseInt(parts[0]), Double.parseDouble(parts[1]));
    }
  }

  /** The options that both kinds share. */
  abstract static class Start extends Write {
    @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
    private String service;

    @Option(
        names = "--max-moves",
        paramLabel = "N",
        description = "Most buckets that a backend loses or gains in an iteration. Default: 10")
    private Integer maxMoves;

    @Option(names = "--stop", description = "Stop the run in progress instead of starting one.")
    private boolean isStop;

    final int start(String kind) {
      if (isStop) {
        return write(
            "DELETE",
            servicePath(service) + "/upkeep",
            MissingNode.getInstance(),
            "stopped upkeep of " + service,
            "would stop upkeep of " + service);
      }
      ObjectNode order = SettingOption.Of.put(this, Json.object());
      if (maxMoves != null) {
        order.put("maxMoves", maxMoves);
      }
      return write(
          "POST",
          servicePath(service) + "/" + kind,
          order,
          "started to %s %s".formatted(kind, service),
          "would start to %s %s".formatted(kind, service));
    }
  }

  @Command(
      name = "rebalance",
      description = "Evens out the load, a few buckets per window.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl rebalance web --load 1=812.5,2=640,3=655 --dry-run",
        "  fairleadctl rebalance web --target 1.1 --max-moves 4",
        "  fairleadctl upkeep web",
        "",
        "The first iteration runs at once, and the controller runs the others."
      })
  public static final class Rebalance extends Start {
    @SettingOption
    @Option(
        names = "--target",
        paramLabel = "RATE",
        description = "Stop when the highest load is at most this times the average. Default: 1.05")
    private Double target;

    @SettingOption
    @Option(
        names = "--load",
        arity = "1..*",
        split = ",",
        paramLabel = "ID=LOAD",
        converter = LoadConverter.class,
        description = "Measured loads of backends, in any one unit. Default: only weights count")
    private List<Load> loads;

    @Override
    public Integer call() {
      return start("rebalance");
    }
  }

  @Command(
      name = "defragment",
      description = "Merges each backend's ranges of buckets, a few buckets per window.",
      footerHeading = "%nExamples:%n",
      footer = {"  fairleadctl defragment web --target 1.5", "  fairleadctl defragment web --stop"})
  public static final class Defragment extends Start {
    @SettingOption
    @Option(
        names = "--target",
        paramLabel = "RATE",
        description = "Stop when backends have on average at most this many ranges. Default: 1.2")
    private Double target;

    @Override
    public Integer call() {
      return start("defragment");
    }
  }

  @Command(
      name = "upkeep",
      description = "Shows a ring's imbalance and fragmentation, and the latest upkeep.",
      footerHeading = "%nExample:%n",
      footer = "  fairleadctl upkeep web")
  public static final class Show extends Verb {
    @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
    private String service;

    @Override
    public Integer call() {
      print(api().get(servicePath(service) + "/upkeep"), this::printUpkeep);
      return 0;
    }

    private void printUpkeep(JsonNode upkeep) {
      Fields fields = new Fields();
      fields.add("generation", upkeep.path("generation").asText());
      fields.add("imbalance", "%.3f".formatted(upkeep.path("imbalance").asDouble()));
      fields.add("rules", upkeep.path("rules").asText());
      fields.add("fragmentation", "%.3f".formatted(upkeep.path("fragmentation").asDouble()));
      JsonNode job = upkeep.path("job");
      if (job.isMissingNode()) {
        fields.add("upkeep", "none yet");
      } else {
        fields.add("upkeep", job.path("kind").asText() + ", " + job.path("state").asText());
        fields.add("target", job.path("target").asText());
        fields.add("iterations", job.path("iterations").asText());
        fields.add("moved", job.path("movedBuckets").asText() + " buckets");
        fields.add("left", "at most " + job.path("leftBuckets").asText() + " buckets");
        fields.add("last", Instant.ofEpochSecond(job.path("last").asLong()).toString());
        if (job.has("next")) {
          fields.add("next", Instant.ofEpochSecond(job.path("next").asLong()).toString());
        }
      }
      fields.print(out());
    }
  }
}
