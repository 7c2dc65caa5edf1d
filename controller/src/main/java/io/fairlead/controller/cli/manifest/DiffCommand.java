// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.manifest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Api.RefusedException;
import io.fairlead.controller.cli.Fairleadctl;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.core.image.RecordKeys;
import io.fairlead.controller.core.image.ServiceConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "diff",
    description = "Shows what 'apply' of a YAML file would change.",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:all services of the file match it",
      "1:'apply' would be refused; stderr has the reason",
      "2:bad usage, or a file that is not readable",
      "3:the controller cannot be reached",
      "4:there are differences"
    },
    footerHeading = "%nExample:%n",
    footer = "  fairleadctl diff -f services.yaml")
public final class DiffCommand extends Verb {
  static final int DIFFERENT = 4;
  private static final int DEFAULT_WEIGHT = 100;

  /** What a service may have. Whether its hold is by default is no setting of a file. */
  private static final List<String> OPTIONAL =
      RecordKeys.optional(ServiceConfig.class).stream()
          .filter(field -> !field.equals("holdByDefault"))
          .toList();

  /** What goes back to its default where the file does not have it. */
  private static final List<String> DEFAULTED =
      Stream.concat(Stream.of("windowSeconds"), OPTIONAL.stream()).toList();

  @Option(
      names = {"-f", "--file"},
      required = true,
      paramLabel = "FILE",
      description = "Services as YAML; - for standard input.")
  private String file;

  private boolean isRefused;
  private boolean isDifferent;

  @Override
  public Integer call() {
    Manifest wanted = Manifest.read(this, file);
    Manifest all = Manifest.of(api(), List.of());
    SortedMap<String, ObjectNode> present = all.services();
    boolean isFirst = all.vipRanges().isEmpty();
    if (wanted.vipRanges().isPresent() && !wanted.vipRanges().equals(all.vipRanges())) {
      isDifferent = true;
      printf(
          "vipRanges: %s -> %s%n",
          isFirst ? "none" : all.vipRanges().get(), wanted.vipRanges().get());
    }
    wanted
        .services()
        .keySet()
        .forEach(name -> compare(name, present.get(name), wanted.request(name, isFirst)));
    for (String name : present.keySet()) {
      if (!wanted.services().containsKey(name)) {
        printf("%s: not in the file; 'apply --prune' would delete it%n", name);
      }
    }
    out().flush();
    if (isRefused) {
      return Fairleadctl.REFUSED;
    }
    return isDifferent ? DIFFERENT : 0;
  }

  private void compare(String name, ObjectNode present, ObjectNode wanted) {
    JsonNode plan;
    try {
      plan = api().send("PUT", servicePath(name) + "?dryRun=true", wanted.toString()).json();
    } catch (RefusedException e) {
      err().printf("%s: refused: %s%n", name, e.getMessage());
      err().flush();
      isRefused = true;
      return;
    }
    if (!plan.path("changed").asBoolean()) {
      printf("%s: as in the file%n", name);
      return;
    }
    isDifferent = true;
    printf(
        "%s: %s, %d buckets would move%n",
        name, present == null ? "new" : "different", plan.path("movedBuckets").asInt());
    if (present != null) {
      lines(present, wanted).forEach(line -> out().println("  " + line));
    }
  }

  /**
   * What differs, as the file writes it; a field that it does not have goes back to its default.
   */
  private static List<String> lines(ObjectNode present, ObjectNode wanted) {
    List<String> lines = new ArrayList<>();
    for (Map.Entry<String, JsonNode> field : wanted.properties()) {
      JsonNode old = present.path(field.getKey());
      boolean isShown = !old.isMissingNode() && !field.getKey().equals("pool");
      if (isShown && !old.equals(field.getValue())) {
        lines.add("%s: %s -> %s".formatted(field.getKey(), old, field.getValue()));
      }
    }
    for (String field : DEFAULTED) {
      if (present.has(field) && !wanted.has(field)) {
        lines.add("%s: %s -> its default".formatted(field, present.path(field)));
      }
    }
    for (String field : OPTIONAL) {
      if (wanted.has(field) && !present.has(field)) {
        lines.add("%s: none -> %s".formatted(field, wanted.path(field)));
      }
    }
    if (wanted.has("pool")) {
      addPool(lines, members(present), members(wanted));
    }
    return lines;
  }

  private static void addPool(
      List<String> lines,
      SortedMap<Integer, JsonNode> present,
      SortedMap<Integer, JsonNode> wanted) {
    wanted.forEach(
        (id, member) -> {
          JsonNode old = present.get(id);
          int weight = weight(member);
          if (old == null) {
            lines.add(
                "+ backend %d: %s, weight %d"
                    .formatted(id, member.path("address").asText(), weight));
          } else if (weight(old) != weight) {
            lines.add("backend %d: weight %d -> %d".formatted(id, weight(old), weight));
          }
        });
    present.forEach(
        (id, member) -> {
          if (!wanted.containsKey(id)) {
            lines.add("- backend %d: %s".formatted(id, member.path("address").asText()));
          }
        });
  }

  private static SortedMap<Integer, JsonNode> members(ObjectNode state) {
    SortedMap<Integer, JsonNode> members = new TreeMap<>();
    state.path("pool").forEach(member -> members.put(member.path("id").asInt(), member));
    return members;
  }

  private static int weight(JsonNode member) {
    return member.path("weight").asInt(DEFAULT_WEIGHT);
  }
}
