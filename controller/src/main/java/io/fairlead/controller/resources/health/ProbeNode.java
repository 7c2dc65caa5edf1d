// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.fairlead.controller.core.ring.Backend;
import io.fairlead.controller.resources.agents.BucketSetCodec;
import io.fairlead.controller.resources.agents.BucketSetCodec.MalformedException;
import io.fairlead.controller.resources.muxes.MetricsUrl;
import java.io.IOException;
import java.util.BitSet;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * What one probe knows of all backends, as in its node (protocol/README.md §13).
 *
 * @param id of the mux beside it
 * @param services by name
 * @param metrics absent if they are read on its host alone
 */
public record ProbeNode(
    String id, SortedMap<String, Service> services, Optional<MetricsUrl> metrics) {
  private static final int FORMAT = 1;
  private static final int PORT_MAX = 65_535;
  private static final int SHOWN = 100;
  private static final Pattern REASON = Pattern.compile("[a-z_]{1,32}");
  private static final JsonMapper MAPPER = new JsonMapper();

  public ProbeNode(String id, SortedMap<String, Service> services) {
    this(id, services, Optional.empty());
  }

  /**
   * @param id of the service; 0 if it is not probed
   * @param config when the configuration was written that the check is of, Unix milliseconds
   * @param unprobed why it is not probed, {@code why} the sentence, or that of {@code skipped}
   * @param skipped backends that this probe can't reach, and does not probe
   * @param down by backend, what failed first
   * @param silent those of which nothing came back
   */
  public record Service(
      int id,
      long config,
      Optional<String> unprobed,
      Optional<String> why,
      BitSet up,
      SortedMap<Integer, Fault> down,
      BitSet silent,
      BitSet skipped) {}

  /**
   * What a probe met at an endpoint of a backend; {@code reason} is one of the protocol's words.
   */
  public record Fault(String reason, String vip, String protocol, int port) {
    @Override
    public String toString() {
      return "%s at %s %s:%d".formatted(reason, vip, protocol, port);
    }
  }

  /**
   * The node of the mux {@code id}.
   *
   * @throws IOException with field, value and what is allowed
   */
  public static ProbeNode parse(String id, byte[] json) throws IOException {
    JsonNode node = json == null ? null : MAPPER.readTree(json);
    if (node == null || !node.isObject()) {
      throw refused("node", node, "an object");
    }
    if (node.path("format").asInt() != FORMAT) {
      throw refused("format", node.path("format"), Integer.toString(FORMAT));
    }
    if (!node.path("id").asText().equals(id)) {
      throw refused("id", node.path("id"), "the node's name, " + id);
    }
    if (!node.path("services").isObject()) {
      throw refused("services", node.path("services"), "an object");
    }
    SortedMap<String, Service> services = new TreeMap<>();
    for (Map.Entry<String, JsonNode> each : node.path("services").properties()) {
      services.put(each.getKey(), service(each.getKey(), each.getValue()));
    }
    return new ProbeNode(
        id, services, MetricsUrl.of("the probe of mux '%s'".formatted(id), node.path("metrics")));
  }

  /** Whether any backend of any service is up or has answered: else it is the probe that is cut. */
  public boolean reachesAny() {
    return services.values().stream()
        .anyMatch(
            service ->
                !service.up().isEmpty()
                    || service.down().keySet().stream().anyMatch(id -> !service.silent().get(id)));
  }

  private static Service service(String name, JsonNode node) throws IOException {
    String at = "services." + name;
    if (!node.isObject()) {
      throw refused(at, node, "an object");
    }
    JsonNode config = node.path("config");
    if (!config.isIntegralNumber() || !config.canConvertToLong() || config.longValue() < 0) {
      throw refused(at + ".config", config, "a whole number from 0");
    }
    if (node.has("unprobed")) {
      String word = word(at + ".unprobed", node.path("unprobed"));
      Optional<String> why = Optional.ofNullable(node.path("why").textValue());
      return new Service(
          0,
          config.longValue(),
          Optional.of(word),
          why,
          new BitSet(),
          new TreeMap<>(),
          new BitSet(),
          new BitSet());
    }
    int id = number(at + ".id", node.path("id"), Integer.MAX_VALUE);
    BitSet up = ids(at + ".up", node.path("up"));
    SortedMap<Integer, Fault> down = new TreeMap<>();
    if (!node.path("down").isArray()) {
      throw refused(at + ".down", node.path("down"), "a list");
    }
    for (JsonNode group : node.path("down")) {
      Fault fault = fault(at + ".down", group);
      for (int each : ids(at + ".down.backends", group.path("backends")).stream().toArray()) {
        if (up.get(each) || down.put(each, fault) != null) {
          throw new IOException(
              "%s has backend %d; allowed: each backend once, and none that is up"
                  .formatted(at + ".down", each));
        }
      }
    }
    BitSet silent = ids(at + ".silent", node.path("silent"));
    BitSet skipped =
        node.has("skipped") ? ids(at + ".skipped", node.path("skipped")) : new BitSet();
    if (skipped.intersects(up) || skipped.stream().anyMatch(down::containsKey)) {
      throw refused(at + ".skipped", node.path("skipped"), "no backend that is up or down");
    }
    return new Service(
        id,
        config.longValue(),
        Optional.empty(),
        Optional.ofNullable(node.path("why").textValue()),
        up,
        down,
        silent,
        skipped);
  }

  private static Fault fault(String at, JsonNode group) throws IOException {
    String reason = word(at + ".reason", group.path("reason"));
    String protocol = group.path("protocol").asText();
    if (!protocol.equals("tcp") && !protocol.equals("udp")) {
      throw refused(at + ".protocol", group.path("protocol"), "tcp or udp");
    }
    if (!group.path("vip").isTextual()) {
      throw refused(at + ".vip", group.path("vip"), "an address");
    }
    return new Fault(
        reason,
        group.path("vip").textValue(),
        protocol,
        number(at + ".port", group.path("port"), PORT_MAX));
  }

  /** A reason that is not known here counts as any other. */
  private static String word(String at, JsonNode node) throws IOException {
    if (!node.isTextual() || !REASON.matcher(node.textValue()).matches()) {
      throw refused(at, node, "a word of a-z and '_'");
    }
    return node.textValue();
  }

  private static int number(String at, JsonNode node, int most) throws IOException {
    if (!node.isIntegralNumber()
        || !node.canConvertToInt()
        || node.intValue() < 1
        || node.intValue() > most) {
      throw refused(at, node, "1.." + most);
    }
    return node.intValue();
  }

  private static BitSet ids(String at, JsonNode node) throws IOException {
    if (!node.isTextual()) {
      throw refused(at, node, "a set of ids as text");
    }
    try {
      BitSet ids = BucketSetCodec.decode(node.textValue(), Backend.MAX + 1);
      if (ids.get(Backend.NONE)) {
        throw refused(at, node, "ids 1.." + Backend.MAX);
      }
      return ids;
    } catch (MalformedException e) {
      throw new IOException("%s is malformed: %s".formatted(at, e.getMessage()), e);
    }
  }

  private static IOException refused(String field, JsonNode value, String allowed) {
    String text = value == null || value.isMissingNode() ? "missing" : value.toString();
    String shown = text.length() > SHOWN ? text.substring(0, SHOWN) + "..." : text;
    return new IOException("%s is %s; allowed: %s".formatted(field, shown, allowed));
  }
}
