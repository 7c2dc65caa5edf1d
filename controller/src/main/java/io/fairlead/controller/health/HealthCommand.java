// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.health;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Fairleadctl;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Verb;
import picocli.CommandLine.Command;

@Command(
    name = "health",
    description = "Says whether the controller serves; exit code 1 when it does not serve reads.",
    footerHeading = "%nExamples:%n",
    footer = {"  fairleadctl health", "  until fairleadctl health; do sleep 1; done"})
public final class HealthCommand extends Verb {
  private static final int SERVES = 200;

  @Override
  public Integer call() {
    Api.Reply reply = api().get("/healthz");
    print(
        reply,
        health -> {
          Fields fields = new Fields();
          fields.add("leader", leader(health));
          fields.add("epoch", health.path("epoch").asText());
          fields.add("zookeeper", health.path("zookeeper").asText());
          fields.add("services", health.path("services").asText());
          fields.print(out());
        });
    return reply.status() == SERVES ? 0 : Fairleadctl.REFUSED;
  }

  private static String leader(JsonNode health) {
    if (health.path("leader").asBoolean()) {
      return "yes";
    }
    String other = health.path("leaderUrl").asText("");
    return other.isEmpty() ? "no" : "no, it is " + other;
  }
}
