// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backup;

import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.secret.PrivateFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "backup",
    description =
        "Writes a file from which the cluster can be rebuilt when all of ZooKeeper is lost.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl backup -f /var/backups/fairlead.json",
      "  fairlead-controller --zookeeper zk1:2281 --zookeeper-tls-ca ca.pem \\",
      "    --restore /var/backups/fairlead.json",
      "",
      "The file holds the services' hash keys: only its owner can read it. It is",
      "replaced in one step. Take one after every important change: a restore undoes",
      "later moves."
    })
public final class BackupCommand extends Verb {
  @Option(
      names = {"-f", "--file"},
      required = true,
      paramLabel = "FILE",
      description = "The file to write or replace.")
  private Path file;

  @Override
  public Integer call() {
    Api.Reply reply = api().get("/v1/backup");
    try {
      PrivateFile.replace(file, reply.text().getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw usage(
          "-f '%s' cannot be written: %s; allowed: a file in a folder of yours"
              .formatted(file, e.getMessage()));
    }
    printf(
        "%s: cluster %s, services: %d%n",
        file, reply.json().path("cluster").asText(), reply.json().path("services").size());
    out().flush();
    return 0;
  }
}
