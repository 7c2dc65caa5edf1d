// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.Verb;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Which muxes belong to the cluster. */
@Command(
    name = "mux",
    description = "Adds a mux to the cluster, or removes one.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {MuxCommands.Add.class, MuxCommands.Remove.class})
public final class MuxCommands {
  private static final String SECRETS = "/etc/fairlead/%s-secrets";

  private MuxCommands() {}

  private static String path(String id) {
    return "/v1/muxes/" + Verb.encode(id);
  }

  @Command(
      name = "add",
      description =
          "Adds a mux and its probe, and prints a script that writes their logins. Run it on"
              + " their host.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl mux add mux3",
        "  fairleadctl mux add mux3 | ssh root@mux3 sh",
        "  fairleadctl mux add mux3 --rotate",
        "",
        "The logins are shown only once and are not stored. A mux that was not added",
        "waits and serves nothing. A cluster without logins prints none."
      })
  static final class Add extends Verb {
    @Parameters(paramLabel = "ID", description = "Name of the mux, its --id.")
    private String id;

    @Option(
        names = "--rotate",
        description =
            "Make new logins for a mux that is added already; its old ones become invalid.")
    private boolean rotates;

    @Option(names = "--dry-run", description = "Check only; nothing is changed.")
    private boolean isDryRun;

    @Override
    public Integer call() {
      ObjectNode asked = Json.object();
      if (rotates) {
        asked.put("rotate", true);
      }
      print(
          api().send("PUT", path(id) + query(isDryRun, List.of()), asked.toString()),
          this::printScript);
      return 0;
    }

    private void printScript(JsonNode added) {
      if (isDryRun) {
        printf("would %s mux %s%n", rotates ? "make new logins for" : "add", id);
        return;
      }
      printf(rotates ? "# mux %s has new logins.%n" : "# mux %s is added.%n", id);
      if (!added.has("login")) {
        out().println("# This cluster has no logins: nothing has to be put on its host.");
        return;
      }
      out()
          .println(
              "# On its host, as root. These logins are shown this once: --rotate makes new ones.");
      out().println("umask 077");
      printFile("mux", added.path("login"));
      printFile("probe", added.path("probeLogin"));
      printf("# With --id %s, and the files as --zookeeper-auth; then restart both.%n", id);
    }

    private void printFile(String part, JsonNode lines) {
      String folder = SECRETS.formatted(part);
      printf("mkdir -p %s%n", folder);
      printf("cat >%s/zookeeper-auth <<'END'%n", folder);
      lines.forEach(line -> out().println(line.asText()));
      out().println("END");
    }
  }

  @Command(
      name = "remove",
      description =
          "Removes a mux and its probe: they cannot log in, and the controller ignores them.",
      footerHeading = "%nExample:%n",
      footer = "  fairleadctl mux remove mux3")
  static final class Remove extends Verb {
    @Parameters(paramLabel = "ID", description = "Name of the mux.")
    private String id;

    @Option(
        names = "--force",
        description =
            "Remove it even if it runs: it then withdraws all VIPs and waits to be added again.")
    private boolean force;

    @Option(names = "--dry-run", description = "Check only; nothing is changed.")
    private boolean isDryRun;

    @Override
    public Integer call() {
      List<String> parameters = force ? List.of("force=true") : List.of();
      print(
          api().send("DELETE", path(id) + query(isDryRun, parameters), ""),
          result -> printf("%s mux %s%n", isDryRun ? "would remove" : "removed", id));
      return 0;
    }
  }
}
