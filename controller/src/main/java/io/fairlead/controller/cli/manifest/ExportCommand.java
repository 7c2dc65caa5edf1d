// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.manifest;

import io.fairlead.controller.cli.Verb;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "export",
    description = "Writes services and their pools as YAML, for 'apply' and for version control.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl export > services.yaml",
      "  fairleadctl export web dns",
      "",
      "Applied to an empty cluster it makes the same services, with new ids, keys and",
      "buckets. To bring a cluster back as it was, use 'fairleadctl backup'."
    })
public final class ExportCommand extends Verb {
  @Parameters(paramLabel = "SERVICE", arity = "0..*", description = "Only these; all by default.")
  private List<String> names = List.of();

  @Override
  public Integer call() {
    out().print(Manifest.of(api(), names).yaml());
    out().flush();
    return 0;
  }
}
