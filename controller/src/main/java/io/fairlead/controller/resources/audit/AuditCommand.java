// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.audit;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "audit",
    description = "Lists changes with their authors, the latest first.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl audit",
      "  fairleadctl audit --limit 1000 --before 4711",
      "  fairleadctl -o json audit | jq '.[] | select(.service == \"web\")'"
    })
public final class AuditCommand extends Verb {
  private static final int LIMIT_MAX = 1000;

  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "20",
      description = "Maximum number of records, 1..1000. Default: ${DEFAULT-VALUE}")
  private int limit;

  @Option(
      names = "--before",
      paramLabel = "NUMBER",
      description = "Only records before the one with this number.")
  private Long before;

  @Override
  public Integer call() {
    if (limit < 1 || limit > LIMIT_MAX) {
      throw usage("--limit '%d' is refused; allowed: 1..%d".formatted(limit, LIMIT_MAX));
    }
    if (before != null && before < 0) {
      throw usage("--before '%d' is refused; allowed: the number of a record".formatted(before));
    }
    String path = "/v1/audit?limit=" + limit + (before == null ? "" : "&cursor=" + before);
    print(
        api().get(path),
        records -> {
          Table table = new Table("NUMBER", "TIME", "WHO", "WHAT", "GENERATION", "MOVED");
          for (JsonNode record : records) {
            table.row(
                record.path("number").asText(),
                record.path("time").asText(),
                record.path("who").asText(),
                record.path("what").asText(),
                record.path("generation").asText(),
                record.path("movedBuckets").asText());
          }
          table.print(out());
        });
    return 0;
  }
}
