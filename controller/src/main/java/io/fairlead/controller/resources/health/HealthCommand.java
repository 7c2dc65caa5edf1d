// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Fairleadctl;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "health",
    description = {
      "Shows whether the controller serves; exit code 1 if it does not serve reads.",
      "With a service, or --backends: backends' health, and the changes that it caused."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl health",
      "  until fairleadctl health; do sleep 1; done",
      "  fairleadctl health web",
      "  fairleadctl health --backends",
      "",
      "For older changes of backends' health, see 'fairleadctl audit'."
    })
public final class HealthCommand extends Verb {
  private static final int SERVES = 200;
  private static final int EVENTS = 20;

  @Parameters(arity = "0..1", paramLabel = "SERVICE", description = "Show its backends' health.")
  private String service;

  @Option(names = "--backends", description = "Show the health of all services' backends.")
  private boolean isOfBackends;

  @Override
  public Integer call() {
    if (service != null || isOfBackends) {
      return backends();
    }
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

  private int backends() {
    print(
        api().get("/v1/health"),
        all -> {
          ArrayNode shown = Json.object().putArray("shown");
          all.forEach(
              each -> {
                if (service == null || each.path("service").asText().equals(service)) {
                  shown.add(each);
                }
              });
          if (shown.isEmpty()) {
            out()
                .println(
                    service == null
                        ? "no service has a health check"
                        : "service %s has no health check".formatted(service));
          }
          shown.forEach(this::print);
        });
    return 0;
  }

  private void print(JsonNode health) {
    String name = health.path("service").asText();
    printf(
        "%s: %s of %d backends healthy, by %s probes%s%n",
        name,
        health.path("healthy").asText(),
        weighted(health),
        health.path("probes").asText(),
        health.path("panic").asBoolean() ? "; too few: health is ignored" : "");
    if (!health.path("acting").asBoolean()) {
      out().println("  the leader has just begun, and only looks");
    }
    if (health.path("probes").asInt() < health.path("needed").asInt()) {
      printf(
          "  nothing goes out of service: that takes %s probes%n", health.path("needed").asText());
    }
    health.path("unprobed").forEach(why -> printf("  not probed by %s%n", why.asText()));
    Table table = new Table("BACKEND", "STATE", "UP", "DOWN", "SINCE", "TIMES", "RETURNS", "WHY");
    for (JsonNode backend : health.path("backends")) {
      table.row(
          backend.path("backend").asText(),
          backend.path("state").asText(),
          backend.path("up").asText(),
          backend.path("down").asText(),
          time(backend.path("since")),
          backend.path("times").asText("-"),
          time(backend.path("returns")),
          why(backend));
    }
    table.print(out());
    Table history = new Table("AT", "BACKEND", "FROM", "TO", "REASON");
    int rows = 0;
    for (JsonNode event : health.path("history")) {
      if (rows++ < EVENTS) {
        history.row(
            time(event.path("at")),
            event.path("backend").asText(),
            event.path("from").asText(),
            event.path("to").asText(),
            event.path("reason").asText());
      }
    }
    if (rows > 0) {
      history.print(out());
    }
  }

  private static long weighted(JsonNode health) {
    long backends = 0;
    for (JsonNode backend : health.path("backends")) {
      backends += backend.path("state").asText().equals("draining") ? 0 : 1;
    }
    return backends;
  }

  private static String why(JsonNode backend) {
    List<String> faults = new ArrayList<>();
    for (Map.Entry<String, JsonNode> fault : backend.path("faults").properties()) {
      faults.add("%s: %s".formatted(fault.getKey(), fault.getValue().asText()));
    }
    return String.join(", ", faults);
  }

  private static String time(JsonNode seconds) {
    return seconds.isNumber() ? Instant.ofEpochSecond(seconds.asLong()).toString() : "-";
  }

  private static String leader(JsonNode health) {
    if (health.path("leader").asBoolean()) {
      return "yes";
    }
    String other = health.path("leaderUrl").asText("");
    return other.isEmpty() ? "no" : "no, it is " + other;
  }
}
