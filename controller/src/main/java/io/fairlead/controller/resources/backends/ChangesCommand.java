// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.MovingWrite;
import io.fairlead.controller.cli.StageOptions;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "changes",
    description = "Commits many changes of a service's backends as one generation, or none.",
    footerHeading = "%nExample:%n",
    footer = {
      "  fairleadctl changes web -f - <<'END'",
      "  {\"changes\": [",
      "    {\"op\": \"add\", \"id\": 7, \"address\": \"10.1.0.27\", \"weight\": 100},",
      "    {\"op\": \"weight\", \"id\": 1, \"weight\": 0},",
      "    {\"op\": \"remove\", \"id\": 3, \"dead\": true}",
      "  ]}",
      "  END"
    })
public final class ChangesCommand extends MovingWrite {
  @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
  private String service;

  @Option(
      names = {"-f", "--file"},
      required = true,
      paramLabel = "FILE",
      description = "The changes as JSON, the body of POST .../changes; - for standard input.")
  private String file;

  @Mixin private StageOptions stages;

  @Override
  protected List<String> parameters() {
    List<String> parameters = new ArrayList<>(super.parameters());
    parameters.addAll(stages.parameters());
    return parameters;
  }

  @Override
  public Integer call() {
    JsonNode changes = read();
    int count = changes.path("changes").size();
    String what = count(count, "change") + " of " + service;
    return write(
        "POST",
        servicePath(service) + "/changes",
        changes,
        "committed " + what,
        "would commit " + what);
  }

  private JsonNode read() {
    try {
      byte[] bytes =
          file.equals("-") ? System.in.readAllBytes() : Files.readAllBytes(Path.of(file));
      return Json.read(new String(bytes, StandardCharsets.UTF_8));
    } catch (JsonProcessingException e) {
      throw usage(
          "-f '%s' is refused: line %d: %s; allowed: one JSON document"
              .formatted(file, e.getLocation().getLineNr(), e.getOriginalMessage()));
    } catch (IOException e) {
      throw usage("-f '%s' cannot be read; allowed: a file of JSON, or -".formatted(file));
    }
  }
}
