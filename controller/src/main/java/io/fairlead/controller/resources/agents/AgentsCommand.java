// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import picocli.CommandLine.Command;

@Command(
    name = "agents",
    description = "Lists each backend's connections, as reported by the agents on servers.",
    footerHeading = "%nExample:%n",
    footer = "  fairleadctl agents")
public final class AgentsCommand extends Verb {
  private static final String NONE = "-";

  @Override
  public Integer call() {
    print(api().get("/v1/agents"), this::printAgents);
    return 0;
  }

  private void printAgents(JsonNode agents) {
    if (agents.isEmpty()) {
      out().println("there are no backends");
      return;
    }
    Table table =
        new Table(
            "SERVICE",
            "BACKEND",
            "ADDRESS",
            "AGENT",
            "SERVER SIDE",
            "AGE",
            "MODE",
            "ESTABLISHED",
            "HALF-OPEN",
            "QUEUE",
            "OPENED/S",
            "CLOSED/S",
            "LOST",
            "BUSY",
            "OFFERED/S",
            "PASSED",
            "REFUSED/S",
            "RESETS/S",
            "RETRANSMITTED",
            "RTT ms");
    for (JsonNode agent : agents) {
      JsonNode queue = agent.path("acceptQueue");
      table.row(
          agent.path("service").asText(),
          agent.path("backend").asText(),
          agent.path("address").asText(),
          agent.path("state").asText().replace('_', ' '),
          form(agent.path("form")),
          cell(agent, "ageSeconds"),
          cell(agent, "mode"),
          cell(agent, "established"),
          cell(agent, "halfOpen"),
          queue.isMissingNode()
              ? NONE
              : "%s/%s".formatted(queue.path("length").asText(), queue.path("limit").asText()),
          cell(agent, "openedPerSecond"),
          cell(agent, "closedPerSecond"),
          cell(agent, "lostEvents"),
          cell(agent.path("load"), "busy"),
          cell(agent.path("load"), "offeredPerSecond"),
          percent(agent.path("load"), "passedShare"),
          cell(agent.path("signals"), "refusedPerSecond"),
          cell(agent.path("signals"), "resetsPerSecond"),
          percent(agent.path("signals"), "retransmittedShare"),
          cell(agent.path("signals"), "rttMilliseconds"));
    }
    table.print(out());
  }

  /** As of the last report. */
  private static String form(JsonNode form) {
    if (form.isMissingNode()) {
      return NONE;
    }
    String word = form.path("attached").asBoolean() ? "" : "detached: ";
    return word + form.path("interface").asText(form.path("kind").asText());
  }

  private static String percent(JsonNode from, String share) {
    return from.has(share) ? Table.percent(from.path(share).asDouble()) : NONE;
  }

  private static String cell(JsonNode agent, String field) {
    return agent.path(field).asText(NONE);
  }
}
