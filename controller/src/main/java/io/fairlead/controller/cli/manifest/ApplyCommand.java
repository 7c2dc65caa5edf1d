// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli.manifest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.Sets;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Api.RefusedException;
import io.fairlead.controller.cli.Api.Reply;
import io.fairlead.controller.cli.Api.UnreachableException;
import io.fairlead.controller.cli.Fairleadctl;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.OnLoss;
import io.fairlead.controller.cli.Verb;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Each service is one request and one commit, so it ends up as in the file or unchanged. A refused
 * service does not stop the others; it is retried while others succeed, since it may need an
 * address that another service of the file gives up.
 */
@Command(
    name = "apply",
    description = "Makes services match a YAML file, moving as few buckets as possible.",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:all services match the file",
      "1:some were refused; stderr has them and the reasons, the others are done",
      "2:bad usage, or a file that is not readable; nothing was changed",
      "3:the controller could not be reached; stdout lists the services that are done"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl apply -f services.yaml --dry-run",
      "  fairleadctl apply -f services.yaml",
      "  fairleadctl apply -f - --prune <<'END'",
      "  vipRanges: [10.99.0.0/16]",
      "  services:",
      "  - name: web",
      "    vips: [10.99.0.1]",
      "    ports: [{protocol: tcp, port: 80}]",
      "    pool:",
      "    - {id: 1, address: 10.1.0.21}",
      "    - {id: 2, address: 10.1.0.22, weight: 50}",
      "  END",
      "",
      "Backends that a 'pool' does not name are removed; a service without 'pool'",
      "keeps those that it has. Services that the file does not name stay, unless",
      "--prune asks for their deletion."
    })
public final class ApplyCommand extends Verb {
  @Option(
      names = {"-f", "--file"},
      required = true,
      paramLabel = "FILE",
      description = "Services as YAML; - for standard input.")
  private String file;

  @Option(names = "--dry-run", description = "Check and plan only; nothing is changed.")
  private boolean isDryRun;

  @ArgGroup private OnLoss onLoss = new OnLoss();

  @Option(names = "--prune", description = "Delete services that the file does not name.")
  private boolean isPruning;

  private final Set<String> present = new TreeSet<>();

  /** Whether the cluster has no ranges of VIPs yet. */
  private boolean isFirst;

  private final ArrayNode report = Json.array();
  private final Map<String, String> refusals = new TreeMap<>();
  private final Map<String, Integer> counts = new TreeMap<>();

  @Override
  public Integer call() {
    Manifest manifest = Manifest.read(this, file);
    Api api = api();
    try {
      applyAll(api, manifest);
    } catch (UnreachableException e) {
      finish();
      throw e;
    }
    return finish();
  }

  private void applyAll(Api api, Manifest manifest) {
    applyRanges(api, manifest);
    Queue<String> waiting = new ArrayDeque<>(manifest.services().keySet());
    api.get("/v1/services").json().forEach(s -> present.add(s.path("name").asText()));
    Queue<String> unwanted = new ArrayDeque<>();
    if (isPruning) {
      unwanted.addAll(Sets.difference(present, manifest.services().keySet()));
    }
    round(waiting, name -> apply(api, name, manifest.request(name, isFirst)));
    round(unwanted, name -> delete(api, name));
    while (!waiting.isEmpty()
        && round(waiting, name -> apply(api, name, manifest.request(name, isFirst)))) {
      continue;
    }
  }

  /** A cluster without ranges gets those of the file with its first service. */
  private void applyRanges(Api api, Manifest manifest) {
    Reply cluster = api.get("/v1/cluster");
    ObjectNode wanted = cluster.json().deepCopy();
    isFirst = wanted.path("vipRanges").isEmpty();
    manifest.vipRanges().ifPresent(ranges -> wanted.set("vipRanges", ranges));
    if (isFirst || wanted.equals(cluster.json())) {
      return;
    }
    try {
      api.send("PUT", "/v1/cluster" + query(isDryRun, List.of()), wanted.toString());
      if (isTable()) {
        printf(
            "vipRanges: %s, now %s%n",
            isDryRun ? "would be changed" : "changed", wanted.path("vipRanges"));
      }
    } catch (RefusedException e) {
      refusals.put("vipRanges", e.getMessage());
    }
  }

  private interface Step {
    void run(String name);
  }

  /** Tries each once; those that are refused stay. Whether any was not. */
  private boolean round(Queue<String> names, Step step) {
    List<String> now = new ArrayList<>(names);
    names.clear();
    for (String name : now) {
      try {
        step.run(name);
        refusals.remove(name);
      } catch (RefusedException e) {
        refusals.put(name, e.getMessage());
        names.add(name);
      }
    }
    return names.size() < now.size();
  }

  private void apply(Api api, String name, ObjectNode state) {
    Api.Reply reply =
        api.send("PUT", servicePath(name) + query(isDryRun, onLoss.parameters()), state.toString());
    if (!reply.json().path("changed").asBoolean()) {
      done(name, "unchanged", reply.json());
    } else {
      done(name, present.contains(name) ? "changed" : "created", reply.json());
    }
  }

  private void delete(Api api, String name) {
    String path = servicePath(name) + query(isDryRun, List.of());
    done(name, "deleted", api.send("DELETE", path, "").json());
  }

  private void done(String name, String outcome, JsonNode result) {
    counts.merge(outcome, 1, Integer::sum);
    report.addObject().put("service", name).put("outcome", outcome).set("result", result);
    if (isTable()) {
      int moved = result.path("movedBuckets").asInt();
      printf(
          "%s: %s%s%n",
          name,
          isDryRun && !outcome.equals("unchanged") ? "would be " + outcome : outcome,
          outcome.equals("unchanged") || outcome.equals("deleted")
              ? ""
              : ", generation %d, %s moved"
                  .formatted(result.path("generation").asLong(), count(moved, "bucket")));
      result.path("warnings").forEach(each -> out().println("warning: " + each.asText()));
      out().flush();
    }
  }

  private int finish() {
    refusals.forEach(
        (name, why) -> {
          err().printf("%s: refused: %s%n", name, why);
          report.addObject().put("service", name).put("outcome", "refused").put("why", why);
        });
    err().flush();
    if (isTable()) {
      List<String> sums = new ArrayList<>();
      for (String outcome : List.of("created", "changed", "unchanged", "deleted")) {
        if (counts.containsKey(outcome)) {
          sums.add(counts.get(outcome) + " " + outcome);
        }
      }
      if (!refusals.isEmpty()) {
        sums.add(refusals.size() + " refused");
      }
      out().println(sums.isEmpty() ? "nothing to do" : String.join(", ", sums));
    } else {
      out().println(report);
    }
    out().flush();
    return refusals.isEmpty() ? 0 : Fairleadctl.REFUSED;
  }
}
