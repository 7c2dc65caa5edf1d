// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import java.time.Instant;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "drains",
    description = "Lists draining backends: connections left, how fast they end, and the deadline.",
    footerHeading = "%nExamples:%n",
    footer = {"  fairleadctl drains", "  fairleadctl drains web --watch"})
public final class DrainsCommand extends Verb {
  private static final long EVERY_MILLIS = 1000;

  @Parameters(
      arity = "0..1",
      paramLabel = "SERVICE",
      description = "Name of the service. Default: all")
  private String service;

  @Option(names = "--watch", description = "Repeat each second until all have ended.")
  private boolean isWatching;

  @Override
  public Integer call() throws InterruptedException {
    while (true) {
      var reply = api().get("/v1/drains");
      print(reply, this::printDrains);
      if (!isWatching || !isRunning(reply.json())) {
        return 0;
      }
      Thread.sleep(EVERY_MILLIS);
      if (isTable()) {
        out().println();
      }
    }
  }

  private boolean isShown(JsonNode drain) {
    return service == null || drain.path("service").asText().equals(service);
  }

  private boolean isRunning(JsonNode drains) {
    for (JsonNode drain : drains) {
      if (isShown(drain) && drain.path("state").asText().equals("draining")) {
        return true;
      }
    }
    return false;
  }

  private void printDrains(JsonNode drains) {
    Table table =
        new Table(
            "SERVICE",
            "BACKEND",
            "STATE",
            "SINCE",
            "DEADLINE",
            "THEN",
            "CONNECTIONS",
            "PER S",
            "LEFT",
            "NOTE");
    int rows = 0;
    for (JsonNode drain : drains) {
      if (isShown(drain)) {
        table.row(
            drain.path("service").asText(),
            drain.path("backend").asText(),
            drain.path("state").asText(),
            Instant.ofEpochSecond(drain.path("since").asLong()).toString(),
            drain.has("deadline")
                ? Instant.ofEpochSecond(drain.path("deadline").asLong()).toString()
                : "-",
            drain.path("then").asText(),
            drain.path("connections").asText("-"),
            drain.has("rate")
                ? String.format(Locale.ROOT, "%.1f", drain.path("rate").asDouble())
                : "-",
            drain.has("secondsLeft") ? drain.path("secondsLeft").asText() + " s" : "-",
            drain.path("note").asText());
        rows++;
      }
    }
    if (rows == 0) {
      out().println("no backend drains");
      return;
    }
    table.print(out());
  }
}
