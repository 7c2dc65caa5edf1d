// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.Verb;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Settings of the whole cluster. */
@Command(
    name = "cluster",
    description = "Settings of the whole cluster: which addresses may be VIPs.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {ClusterCommands.Show.class, ClusterCommands.Set.class})
public final class ClusterCommands {
  private static final String PATH = "/v1/cluster";
  private static final String RANGES = "vipRanges";
  private static final String NEVER = "neverVips";

  private ClusterCommands() {}

  @Command(
      name = "show",
      description = "Shows which addresses may be VIPs, and which never are.",
      footerHeading = "%nExample:%n",
      footer = "  fairleadctl cluster show")
  static final class Show extends Verb {
    @Override
    public Integer call() {
      print(
          api().get(PATH),
          settings -> {
            Fields fields = new Fields();
            fields.add("VIP ranges", list(settings.path(RANGES)));
            fields.add("never VIPs", list(settings.path(NEVER)));
            fields.print(out());
          });
      return 0;
    }
  }

  @Command(
      name = "set",
      description = "Sets which addresses may be VIPs.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl cluster set --vip-range 10.99.0.0/16 --vip-range 2001:db8:99::/64",
        "  fairleadctl cluster set --never-vip 10.99.0.1,10.99.7.0/24",
        "  fairleadctl cluster set --never-vip none",
        "",
        "Only the lists that you give change. VIPs of services must stay allowed.",
        "Addresses of ZooKeeper, controllers, muxes, backends and of the muxes' next",
        "hops are never VIPs, whatever is set here."
      })
  static final class Set extends Verb {
    @Option(
        names = "--vip-range",
        split = ",",
        paramLabel = "RANGE",
        description = "A range of allowed VIPs, such as 10.99.0.0/16; may be repeated.")
    private List<String> ranges;

    @Option(
        names = "--never-vip",
        split = ",",
        paramLabel = "IP|RANGE",
        description =
            "An address or range that is never a VIP; may be repeated. none clears the list.")
    private List<String> never;

    @Option(names = "--dry-run", description = "Check only; nothing is changed.")
    private boolean isDryRun;

    @Override
    public Integer call() {
      if (ranges == null && never == null) {
        throw usage("nothing is given to set; allowed: --vip-range, --never-vip, or both");
      }
      Api api = api();
      ObjectNode asked = Json.object();
      JsonNode present = api.get(PATH).json();
      asked.set(RANGES, ranges == null ? present.path(RANGES) : array(ranges));
      boolean isNone = List.of("none").equals(never);
      asked.set(NEVER, never == null ? present.path(NEVER) : array(isNone ? List.of() : never));
      print(
          api.send("PUT", PATH + query(isDryRun, List.of()), asked.toString()),
          settings ->
              printf(
                  "%s %s; never: %s%n",
                  isDryRun ? "VIPs would come from" : "VIPs come from",
                  list(settings.path(RANGES)),
                  list(settings.path(NEVER))));
      return 0;
    }
  }

  private static ArrayNode array(List<String> texts) {
    ArrayNode array = Json.array();
    texts.forEach(array::add);
    return array;
  }

  private static String list(JsonNode texts) {
    List<String> listed = new ArrayList<>();
    texts.forEach(text -> listed.add(text.asText()));
    return listed.isEmpty() ? "none" : String.join(", ", listed);
  }
}
