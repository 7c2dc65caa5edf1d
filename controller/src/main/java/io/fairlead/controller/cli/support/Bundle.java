// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.support;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.Verb;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** What was found, by name, and what was not. No failure of one part ends the others. */
final class Bundle {
  /** Of the manifest; a reader refuses others. */
  static final int FORMAT = 1;

  private static final String HEALTH = "/healthz";
  private static final int ERRORS = 400;
  private static final String CONFIG = "config/";

  /** Services whose pools and rings are read; of more only the list. */
  static final int SERVICES_MAX = 200;

  private static final int FILE_BYTES_MAX = 1 << 16;

  /** Of services and files: they become names in the tar, so others are left out. */
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");

  /** A controller that does not answer is not asked for all the rest. */
  private static final int SILENT_MAX = 2;

  /** A client that is further behind is cut off by the controller. */
  private static final long EVENTS_MAX = 900;

  /** Of the whole cluster: name and path. */
  private static final Map<String, String> PARTS =
      Map.of(
          "cluster.json", "/v1/cluster",
          "services.json", "/v1/services",
          "muxes.json", "/v1/muxes",
          "agents.json", "/v1/agents",
          "drains.json", "/v1/drains",
          "health.json", "/v1/health",
          "audit.json", "/v1/audit?limit=1000");

  private static final List<String> PARTS_OF_SERVICE =
      List.of("backends", "ring", "holds", "othello", "upkeep");

  private final String folder;
  private final Redaction redaction;
  private final SortedMap<String, byte[]> files = new TreeMap<>();
  private final SortedMap<String, String> missing = new TreeMap<>();
  private int silent;
  private boolean hasAnswered;
  private boolean isReached;

  Bundle(String folder, Redaction redaction) {
    this.folder = folder;
    this.redaction = redaction;
  }

  SortedMap<String, byte[]> files() {
    return Collections.unmodifiableSortedMap(files);
  }

  /** Whether the controller of {@link #cluster} has answered anything. */
  boolean isReached() {
    return isReached;
  }

  /** What runs here. */
  void host(String version) {
    ObjectNode host = Json.object().put("fairleadctl", version);
    for (String property :
        List.of("os.name", "os.version", "os.arch", "java.vendor", "java.version")) {
      host.put(property, System.getProperty(property));
    }
    host.put("processors", Runtime.getRuntime().availableProcessors());
    add("host.json", redaction.json(host).toPrettyString());
  }

  /** The flags of this host's units: no other file of the folder, since those are secrets. */
  void environment(Path config) {
    try (DirectoryStream<Path> found = Files.newDirectoryStream(config, "*.env")) {
      for (Path path : found) {
        String name = path.getFileName().toString();
        if (NAME.matcher(name).matches()) {
          part(CONFIG + name, () -> environmentFile(path));
        } else {
          missing.put(
              "config", "the name '%s' has other characters than [A-Za-z0-9._-]".formatted(name));
        }
      }
    } catch (IOException e) {
      missing.put("config", "'%s' cannot be read: %s".formatted(config, e));
    }
  }

  private String environmentFile(Path path) {
    try {
      if (Files.size(path) > FILE_BYTES_MAX) {
        throw new Api.RefusedException("it has more than %d bytes".formatted(FILE_BYTES_MAX));
      }
      return redaction.environment(Files.readString(path));
    } catch (IOException e) {
      throw new Api.RefusedException("it cannot be read: " + e);
    }
  }

  /** Everything of one controller, and of the cluster that it shows. */
  void cluster(Api api) {
    hasAnswered = false;
    controller("controllers/1", api);
    PARTS.forEach((name, path) -> json(name, api, path));
    part(
        "contract.json",
        () -> Json.object().set("version", info(api).path("version")).toPrettyString());
    part("events.txt", () -> events(api));
    services(api);
    isReached = hasAnswered;
  }

  /** Health and metrics of one controller. */
  void controller(String name, Api api) {
    silent = 0;
    json(name + "/healthz.json", api, HEALTH);
    part(name + "/metrics.txt", () -> redaction.text(api.text("/metrics")));
  }

  private void services(Api api) {
    if (!files.containsKey(folder + "services.json")) {
      return;
    }
    int count = 0;
    for (JsonNode service : tree(files.get(folder + "services.json"))) {
      String name = service.path("name").asText();
      String path = Verb.servicePath(name);
      if (!NAME.matcher(name).matches()) {
        missing.put(
            "services", "the controller names a service '%s'".formatted(redaction.text(name)));
        continue;
      }
      if (++count > SERVICES_MAX) {
        missing.put("services/" + name, "of the first %d only".formatted(SERVICES_MAX));
        continue;
      }
      for (String part : PARTS_OF_SERVICE) {
        json("services/%s/%s.json".formatted(name, part), api, path + "/" + part);
      }
    }
  }

  private static JsonNode tree(byte[] json) {
    try {
      return Json.read(new String(json, StandardCharsets.UTF_8));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("no JSON any more", e);
    }
  }

  private JsonNode info(Api api) {
    return redaction.json(api.get("/openapi.json").json().path("info"));
  }

  /** The latest that the controller remembers: up to the one that it had when this began. */
  private String events(Api api) {
    String prefix = "id: ";
    List<String> start = api.lines("/v1/events", "", String::isEmpty);
    String last =
        start.stream()
            .filter(line -> line.startsWith(prefix))
            .findFirst()
            .orElseThrow(() -> new Api.RefusedException("the stream began without an id"))
            .substring(prefix.length());
    int dash = last.lastIndexOf('-');
    long number = Long.parseLong(last.substring(dash + 1));
    for (long behind = Math.min(number, EVENTS_MAX); behind > 0; behind /= 2) {
      String after = last.substring(0, dash + 1) + (number - behind);
      boolean[] isLast = {false};
      List<String> lines =
          api.lines(
              "/v1/events",
              after,
              line -> {
                isLast[0] |= line.equals(prefix + last);
                return line.isEmpty() && isLast[0] || line.contains("\"resumed\":false");
              });
      if (lines.stream().noneMatch(line -> line.contains("\"resumed\":false"))) {
        return clean(lines);
      }
    }
    return clean(start);
  }

  private String clean(List<String> lines) {
    String data = "data: ";
    StringBuilder clean = new StringBuilder();
    for (String line : lines) {
      boolean isData = line.startsWith(data);
      String text =
          isData ? data + redaction.embedded(line.substring(data.length())) : redaction.text(line);
      clean.append(text).append('\n');
    }
    return clean.toString();
  }

  private void json(String name, Api api, String path) {
    part(
        name,
        () -> {
          Api.Reply reply = api.get(path);
          boolean mayFail = path.equals(HEALTH); // which says by its status whether it serves
          if (reply.json().isMissingNode() || (reply.status() >= ERRORS && !mayFail)) {
            throw new Api.RefusedException("the answer has status %d".formatted(reply.status()));
          }
          return redaction.json(reply.json()).toPrettyString();
        });
  }

  private void part(String name, Supplier<String> content) {
    if (silent >= SILENT_MAX && !name.startsWith(CONFIG)) {
      missing.put(name, "not asked for: the controller did not answer %d times".formatted(silent));
      return;
    }
    try {
      add(name, content.get());
      answered(name);
    } catch (Api.RefusedException e) {
      missing.put(name, redaction.text(e.getMessage()));
      answered(name);
    } catch (Api.UnreachableException e) {
      missing.put(name, redaction.text(e.getMessage()));
      silent++;
    }
  }

  private void answered(String name) {
    if (!name.startsWith(CONFIG)) {
      silent = 0;
      hasAnswered = true;
    }
  }

  private void add(String name, String text) {
    files.put(folder + name, text.getBytes(StandardCharsets.UTF_8));
  }

  /** Adds what is here and what is not, and why. */
  JsonNode manifest(Instant now) {
    ObjectNode manifest = Json.object().put("format", FORMAT).put("time", now.toString());
    manifest.put("hidden", redaction.hidden());
    ArrayNode found = manifest.putArray("files");
    files.forEach((name, bytes) -> found.addObject().put("name", name).put("bytes", bytes.length));
    ArrayNode not = manifest.putArray("missing");
    missing.forEach((name, why) -> not.addObject().put("name", folder + name).put("why", why));
    add("manifest.json", manifest.toPrettyString());
    return manifest;
  }
}
