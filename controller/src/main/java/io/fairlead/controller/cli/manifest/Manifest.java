// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.manifest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Api.RefusedException;
import io.fairlead.controller.cli.Api.Reply;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.core.steering.SteeringMethod;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.yaml.snakeyaml.LoaderOptions;

/**
 * Services and their pools as they should be, in YAML: each entry is the body of {@code PUT
 * /v1/services/NAME} with the name added. Beside them may be the ranges from which the cluster's
 * VIPs come. JSON is YAML, too.
 */
final class Manifest {
  /** A pool of 65,535 backends takes 4 MB. */
  private static final int CHARACTERS_MAX = 64 << 20;

  /** Fields that the API shows and no request may set. */
  private static final Set<String> SHOWN_ONLY = Set.of("id", "version", "generation", "backends");

  private static final int READS_MAX = 10;
  private static final ObjectMapper YAML = mapper();

  private static final String RANGES = "vipRanges";

  private final SortedMap<String, ObjectNode> services = new TreeMap<>();
  private Optional<ArrayNode> vipRanges = Optional.empty();

  private Manifest() {}

  /** From which the cluster's VIPs come, if the file says. */
  Optional<ArrayNode> vipRanges() {
    return vipRanges;
  }

  /**
   * The body of a request for a service: the first one of a cluster without ranges brings those of
   * the file.
   */
  ObjectNode request(String name, boolean isFirst) {
    ObjectNode state = services.get(name).deepCopy();
    if (isFirst && !state.has(RANGES)) {
      vipRanges.ifPresent(ranges -> state.set(RANGES, ranges));
    }
    return state;
  }

  /** By name, each without it. */
  SortedMap<String, ObjectNode> services() {
    return services;
  }

  /** The services of a file; a wrong file ends {@code verb} as bad usage. */
  static Manifest read(Verb verb, String file) {
    try {
      return read(file);
    } catch (IllegalArgumentException e) {
      throw verb.usage(e.getMessage());
    }
  }

  /**
   * @param file a path, or - for standard input
   * @throws IllegalArgumentException saying in one sentence where it is wrong and what is allowed
   */
  private static Manifest read(String file) {
    JsonNode root;
    try {
      byte[] bytes =
          file.equals("-") ? System.in.readAllBytes() : Files.readAllBytes(Path.of(file));
      root = YAML.readTree(new String(bytes, StandardCharsets.UTF_8));
    } catch (JsonProcessingException e) {
      throw refused(
          file,
          "line %d: %s"
              .formatted(
                  e.getLocation() == null ? 1 : e.getLocation().getLineNr(),
                  e.getOriginalMessage().lines().findFirst().orElse("")),
          "one YAML document");
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "-f '%s' cannot be read; allowed: a file of YAML, or -".formatted(file), e);
    }
    return of(file, root);
  }

  private static Manifest of(String file, JsonNode root) {
    if (!(root.path("services") instanceof ArrayNode list)) {
      throw refused(file, "it has no list 'services'", "services: [{name: web, ...}, ...]");
    }
    for (var field : root.properties()) {
      if (!field.getKey().equals("services") && !field.getKey().equals(RANGES)) {
        throw refused(
            file, "the field '%s'".formatted(field.getKey()), "the fields services, vipRanges");
      }
    }
    Manifest manifest = new Manifest();
    if (root.has(RANGES)) {
      if (!(root.path(RANGES) instanceof ArrayNode ranges) || ranges.isEmpty()) {
        throw refused(file, "vipRanges is not a list of ranges", "vipRanges: [10.99.0.0/16]");
      }
      manifest.vipRanges = Optional.of(ranges);
    }
    for (int i = 0; i < list.size(); i++) {
      if (!(list.get(i) instanceof ObjectNode service) || !service.path("name").isTextual()) {
        throw refused(file, "services[%d] has no name".formatted(i), "name: web");
      }
      ObjectNode state = service.deepCopy();
      String name = state.remove("name").asText();
      if (manifest.services.put(name, state) != null) {
        throw refused(file, "services[%d] is '%s' again".formatted(i, name), "each name once");
      }
    }
    return manifest;
  }

  /** What the controller has; of all services if {@code names} is empty. */
  static Manifest of(Api api, List<String> names) {
    Manifest manifest = new Manifest();
    manifest.vipRanges = presentRanges(api).filter(ranges -> !ranges.isEmpty());
    if (names.isEmpty()) {
      api.get("/v1/services")
          .json()
          .forEach(service -> manifest.add(api, service.path("name").asText()));
    } else {
      names.forEach(name -> manifest.add(api, name));
    }
    return manifest;
  }

  /** Those that the cluster has now. */
  static Optional<ArrayNode> presentRanges(Api api) {
    return Optional.of(api.get("/v1/cluster").json().path(RANGES))
        .filter(ArrayNode.class::isInstance)
        .map(ArrayNode.class::cast);
  }

  private void add(Api api, String name) {
    services.put(name, state(api, name));
  }

  /** Service and pool of one moment: read again while a commit comes in between. */
  private static ObjectNode state(Api api, String name) {
    String path = Verb.servicePath(name);
    for (int read = 0; read < READS_MAX; read++) {
      Reply service = api.get(path);
      Reply backends = api.get(path + "/backends");
      if (service.version().equals(backends.version())) {
        return state((ObjectNode) service.json(), backends.json());
      }
    }
    throw new RefusedException(
        "service '%s' has changed at each of %d reads; try again".formatted(name, READS_MAX));
  }

  private static ObjectNode state(ObjectNode service, JsonNode backends) {
    ArrayNode pool = service.putArray("pool");
    for (JsonNode backend : backends) {
      ObjectNode member = pool.addObject();
      List.of("id", "address", "weight").forEach(f -> member.set(f, backend.path(f)));
      if (backend.path("foreign").asBoolean()) {
        member.put("foreign", true);
      }
    }
    if (service.remove("holdByDefault") != null) {
      service.remove("holdSeconds");
    } else if (!service.has("holdSeconds")
        && service.path("steering").asText().equals(SteeringMethod.DEFAULT.word())
        && !service.path("encap").asText().equals("ipip")) {
      service.put("holdSeconds", 0);
    }
    service.remove(SHOWN_ONLY);
    if (service.path("steering").asText().equals(SteeringMethod.DEFAULT.word())) {
      service.remove(
          "steering"); // omit the default, so that files from before this setting still match
    }
    service.remove("name");
    return service;
  }

  String yaml() {
    ObjectNode root = Json.object();
    vipRanges.ifPresent(ranges -> root.set(RANGES, ranges));
    ArrayNode list = root.putArray("services");
    services.forEach((name, state) -> list.addObject().put("name", name).setAll(state));
    try {
      return YAML.writeValueAsString(root);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("no YAML for what the controller has", e);
    }
  }

  private static ObjectMapper mapper() {
    LoaderOptions options = new LoaderOptions();
    options.setCodePointLimit(CHARACTERS_MAX);
    YAMLFactory factory =
        YAMLFactory.builder()
            .loaderOptions(options)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
            .disable(YAMLGenerator.Feature.SPLIT_LINES)
            .build();
    return YAMLMapper.builder(factory)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .build();
  }

  private static IllegalArgumentException refused(String file, String what, String allowed) {
    return new IllegalArgumentException(
        "-f '%s' is refused: %s; allowed: %s".formatted(file, what, allowed));
  }
}
