// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.http.Endpoint;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
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
    if (explanation.has("bucket")) {
      addFormer(fields, explanation, "");
      fields.add("kept", explanation.path("kept").asText());
      addArrays(fields, explanation.path("arrays"));
      addSecond(fields, explanation);
    }
    fields.print(out());
  }

  /**
   * Adds a bucket's former owners that packets name.
   *
   * @param which of two buckets, as a prefix of the fields
   */
  private static void addFormer(Fields fields, JsonNode bucket, String which) {
    if (bucket.path("former").isEmpty()) {
      fields.add(which + "former", "none");
    }
    for (JsonNode owner : bucket.path("former")) {
      fields.add(
          which + "former", "%s, lost it at %s".formatted(owner(owner), time(owner.path("since"))));
    }
    if (bucket.has("hold")) {
      addHold(fields, bucket.path("hold"), which);
    }
  }

  private static void addArrays(Fields fields, JsonNode arrays) {
    if (arrays.isObject()) {
      fields.add(
          "arrays",
          "generation %s, %s"
              .formatted(
                  arrays.path("generation").asText(),
                  arrays.has("previous")
                      ? "before it %s".formatted(arrays.path("previous").asText())
                      : "settled"));
    }
  }

  /** Adds the other candidate, and who chooses between both. */
  private void addSecond(Fields fields, JsonNode explanation) {
    JsonNode second = explanation.path("second");
    if (!second.isObject()) {
      return;
    }
    fields.add(
        "second bucket",
        "%s, of %s"
            .formatted(
                second.path("bucket").asText(),
                second.has("current") ? owner(second.path("current")) : "none"));
    addFormer(fields, second, "second ");
    switch (explanation.path("steering").asText()) {
      case "hunt" ->
          fields.add(
              "order", "a new connection that the first backend refuses is taken by the second");
      case "maat" ->
          fields.add("order", "each mux names the less loaded of both first, in any packet");
      default -> fields.add("order", "the second is for connections of the arrays before");
    }
  }

  private static void addHold(Fields fields, JsonNode hold, String which) {
    fields.add(which + "held", "until %s at the latest".formatted(time(hold.path("until"))));
    List<String> all = new ArrayList<>();
    for (JsonNode owner : hold.path("owners")) {
      String words = "unknown: " + owner.path("unknown").asText();
      if (owner.has("connected")) {
        words = owner.path("connected").asBoolean() ? "has connections" : "has none left";
      }
      all.add("backend %s: %s".formatted(owner.path("id").asText(), words));
    }
    fields.add(which + "held for", String.join("; ", all));
  }

  private static Instant time(JsonNode seconds) {
    return Instant.ofEpochSecond(seconds.asLong());
  }

  private static String owner(JsonNode owner) {
    return "%s at %s".formatted(owner.path("id").asText(), owner.path("address").asText());
  }
}
