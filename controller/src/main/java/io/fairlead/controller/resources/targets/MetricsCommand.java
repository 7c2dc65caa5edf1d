// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.targets;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** What Prometheus needs to know. */
@Command(
    name = "metrics",
    description = "Metrics endpoints for Prometheus.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = MetricsCommand.Targets.class)
public final class MetricsCommand {
  private MetricsCommand() {}

  @Command(
      name = "targets",
      description = "Lists the metrics endpoints of controllers, muxes and probes.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl metrics targets",
        "  fairleadctl metrics targets --part mux --file /etc/prometheus/muxes.json",
        "",
        "The file is for Prometheus' file_sd_configs. It is replaced atomically, and",
        "all users can read it. An empty list does not replace a file."
      })
  static final class Targets extends Verb {
    @Option(names = "--part", paramLabel = "controller|mux|probe", description = "List only these.")
    private String part;

    @Option(names = "--file", paramLabel = "FILE", description = "Write the list to this file.")
    private Path file;

    @Override
    public Integer call() {
      Api.Reply reply =
          api().get("/v1/metrics/targets" + (part == null ? "" : "?part=" + encode(part)));
      if (file == null) {
        print(reply, this::printTargets);
        return 0;
      }
      int count = reply.json().size();
      if (count == 0 && Files.exists(file)) {
        throw usage(
            "--file '%s' is left as it is: there are no targets; allowed: at least one"
                .formatted(file));
      }
      try {
        write(reply.text());
      } catch (IOException e) {
        throw usage(
            "--file '%s' cannot be written: %s; allowed: a file in a folder of yours"
                .formatted(file, e.getMessage()));
      }
      printf("%s: targets: %d%n", file, count);
      out().flush();
      return 0;
    }

    private void printTargets(JsonNode targets) {
      Table table = new Table("PART", "ID", "METRICS");
      for (JsonNode target : targets) {
        JsonNode labels = target.path("labels");
        table.row(
            labels.path("part").asText(),
            labels.path("instance").asText(),
            "%s://%s%s"
                .formatted(
                    labels.path("__scheme__").asText(),
                    target.path("targets").path(0).asText(),
                    labels.path("__metrics_path__").asText()));
      }
      table.print(out());
    }

    /** Prometheus reads it as another user. */
    private void write(String text) throws IOException {
      Path aside =
          Files.createTempFile(
              file.toAbsolutePath().getParent(), file.getFileName().toString(), ".new");
      try {
        Files.writeString(aside, text);
        Files.setPosixFilePermissions(aside, PosixFilePermissions.fromString("rw-r--r--"));
        Files.move(
            aside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      } finally {
        Files.deleteIfExists(aside);
      }
    }
  }
}
