// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.support;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Fairleadctl;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.secret.PrivateFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "support-bundle",
    description = "Writes a tar.gz file with the data for a bug report, without secrets.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl support-bundle fairlead.tar.gz",
      "  fairleadctl support-bundle b.tar.gz --controller https://c2:8080 https://c3",
      "",
      "manifest.json lists what could not be read, and why. Tokens, keys and",
      "passwords are hidden; addresses and names are not. Check the file before you",
      "pass it on. With role admin it has everything; with role viewer it has no",
      "audit records."
    })
public final class SupportBundleCommand extends Verb {
  private static final String FOLDER = "fairlead-support/";

  @Parameters(paramLabel = "FILE", description = "The file to write or replace.")
  private Path file;

  @Option(
      names = "--controller",
      arity = "1..*",
      paramLabel = "URL",
      description = "Other controllers; their health and metrics are added")
  private List<String> controllers = List.of();

  @Option(
      names = "--config",
      paramLabel = "DIR",
      defaultValue = "/etc/fairlead",
      description = "Folder of this host's *.env files with flags. Default: /etc/fairlead")
  private Path config;

  @Override
  public Integer call() throws IOException {
    Instant now = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    Bundle bundle = new Bundle(FOLDER, new Redaction(secrets()));
    Api api = api();
    List<Api> others = new ArrayList<>();
    controllers.forEach(url -> others.add(api(url)));
    bundle.host(version());
    bundle.environment(config);
    bundle.cluster(api);
    for (int i = 0; i < others.size(); i++) {
      bundle.controller("controllers/%d".formatted(i + 2), others.get(i));
    }
    JsonNode manifest = bundle.manifest(now);
    try {
      PrivateFile.replace(file, TarGz.pack(bundle.files(), now));
    } catch (IOException e) {
      throw usage(
          "FILE '%s' cannot be written: %s; allowed: a file in a folder of yours"
              .formatted(file, e.getMessage()));
    }
    JsonNode missing = manifest.path("missing");
    if (isTable()) {
      printf(
          "%s: %d files, %d values hidden, %d missing%n",
          file, bundle.files().size(), manifest.path("hidden").asInt(), missing.size());
      missing.forEach(
          each -> err().printf("%s: %s%n", each.path("name").asText(), each.path("why").asText()));
    } else {
      out().println(manifest);
    }
    out().flush();
    return bundle.isReached() ? 0 : Fairleadctl.UNREACHABLE;
  }
}
