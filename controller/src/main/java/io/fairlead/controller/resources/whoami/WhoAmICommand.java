// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.whoami;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Verb;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;

@Command(
    name = "whoami",
    description = "Shows your token's identity, and what it may do.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl whoami",
      "  fairleadctl --token-file /etc/fairlead/token whoami",
    })
public final class WhoAmICommand extends Verb {
  @Override
  public Integer call() {
    print(
        api().get("/v1/whoami"),
        identity -> {
          List<String> roles = new ArrayList<>();
          for (JsonNode each : identity.path("roles")) {
            List<String> services = new ArrayList<>();
            each.path("services").forEach(service -> services.add(service.asText()));
            roles.add(
                each.path("role").asText()
                    + (services.isEmpty() ? "" : " of " + String.join(", ", services)));
          }
          Fields fields = new Fields();
          fields.add("name", identity.path("name").asText());
          fields.add("role", String.join("; ", roles));
          fields.print(out());
        });
    return 0;
  }
}
