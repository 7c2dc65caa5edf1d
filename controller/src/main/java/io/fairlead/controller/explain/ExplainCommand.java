// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.explain;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.api.Endpoint;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Verb;
import java.time.Instant;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "explain",
    description = "Shows where the packets of a connection go, and why.",
    footerHeading = "%nExample:%n",
    footer = {
      "  fairleadctl explain web tcp 10.2.1.2:40001 10.99.0.1:80",
      "",
      "Source is the client, destination the VIP; write IPv6 addresses in brackets.",
      "'fairlead-mux explain' answers the same for a mux."
    })
public final class ExplainCommand extends Verb {
  @Parameters(index = "0", paramLabel = "SERVICE", description = "Name of the service.")
  private String service;

  @Parameters(index = "1", paramLabel = "PROTO", description = "tcp or udp.")
  private String protocol;

  @Parameters(index = "2", paramLabel = "SRC:PORT", description = "The client's side.")
  private String source;

  @Parameters(index = "3", paramLabel = "DST:PORT", description = "VIP and port.")
  private String destination;

  @Override
  public Integer call() {
    Endpoint from = endpoint("SRC:PORT", source);
    Endpoint to = endpoint("DST:PORT", destination);
    String query =
        "?protocol=%s&source=%s&sourcePort=%d&destination=%s&destinationPort=%d"
            .formatted(
                encode(protocol), encode(from.host()), from.port(), encode(to.host()), to.port());
    print(api().get(servicePath(service) + "/explain" + query), this::printExplanation);
    return 0;
  }

  private Endpoint endpoint(String name, String text) {
    try {
      return Endpoint.parse(name, text);
    } catch (IllegalArgumentException e) {
      throw usage(e.getMessage());
    }
  }

  private void printExplanation(JsonNode explanation) {
    Fields fields = new Fields();
    fields.add("service", service);
    fields.add("hash", "0x%08x".formatted(explanation.path("hash").asLong()));
    fields.add(
        "bucket",
        explanation.has("bucket")
            ? explanation.path("bucket").asText()
            : "none: the port names the backend");
    fields.add("generation", explanation.path("generation").asText());
    fields.add(
        "backend",
        explanation.has("current")
            ? owner(explanation.path("current"))
            : "none: packets are counted and dropped");
    long since = explanation.path("since").asLong();
    if (explanation.has("previous")) {
      fields.add("previous", owner(explanation.path("previous")));
    }
    if (!explanation.has("bucket")) {
      fields.print(out());
      return;
    }
    if (since > 0) {
      fields.add(
          "moved",
          "%s, window %s"
              .formatted(
                  Instant.ofEpochSecond(since),
                  explanation.path("moved").asBoolean()
                      ? (explanation.path("hold").path("held").asBoolean() ? "over, held" : "open")
                          + ": older connections are chained to the previous backend"
                      : closed()));
      if (explanation.has("hold")) {
        addHold(fields, explanation.path("hold"));
      }
    } else {
      fields.add("moved", "never");
    }
    if (explanation.has("arrays")) {
      JsonNode arrays = explanation.path("arrays");
      fields.add(
          "arrays",
          "generation %s, %s"
              .formatted(
                  arrays.path("generation").asText(),
                  arrays.has("previous")
                      ? "before it %s".formatted(arrays.path("previous").asText())
                      : "settled"));
    }
    if (explanation.has("second")) {
      JsonNode second = explanation.path("second");
      fields.add(
          "second bucket",
          "%s, of %s"
              .formatted(
                  second.path("bucket").asText(),
                  second.has("current") ? owner(second.path("current")) : "none"));
    }
    fields.print(out());
  }

  private static void addHold(Fields fields, JsonNode hold) {
    fields.add("held", "until %s at the latest".formatted(time(hold.path("until"))));
    for (JsonNode owner : hold.path("owners")) {
      String words = "unknown: " + owner.path("unknown").asText();
      if (owner.has("connected")) {
        words = owner.path("connected").asBoolean() ? "has connections" : "has none left";
      }
      fields.add("held for", "backend %s: %s".formatted(owner.path("id").asText(), words));
    }
  }

  private static Instant time(JsonNode seconds) {
    return Instant.ofEpochSecond(seconds.asLong());
  }

  private String closed() {
    return protocol.equals("udp") ? "closed, or not used: stateless UDP" : "closed";
  }

  private static String owner(JsonNode owner) {
    return "%s at %s".formatted(owner.path("id").asText(), owner.path("address").asText());
  }
}
