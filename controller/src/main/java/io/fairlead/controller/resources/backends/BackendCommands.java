// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.MovingWrite;
import io.fairlead.controller.cli.SecondsConverter;
import io.fairlead.controller.cli.SettingOption;
import io.fairlead.controller.cli.StageOptions;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The backends of a service. */
@Command(
    name = "backend",
    description = "The backends of a service.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      BackendCommands.Add.class,
      BackendCommands.Weight.class,
      BackendCommands.Drain.class,
      BackendCommands.Undrain.class,
      BackendCommands.HoldHealth.class,
      BackendCommands.ReleaseHealth.class,
      BackendCommands.Remove.class,
      BackendCommands.ListAll.class
    })
public final class BackendCommands {
  private BackendCommands() {}

  private abstract static class OfBackend extends MovingWrite {
    @Parameters(index = "0", paramLabel = "SERVICE", description = "Name of the service.")
    private String service;

    @Parameters(index = "1", paramLabel = "ID", description = "Id of the backend, 1..65535.")
    private int id;

    final String name() {
      return "backend %d of %s".formatted(id, service);
    }

    final int id() {
      return id;
    }

    final String service() {
      return service;
    }

    final String path() {
      return "%s/backends/%d".formatted(servicePath(service), id);
    }
  }

  /** One that raises or lowers a weight, at once or in steps. */
  private abstract static class Weighing extends OfBackend {
    @Mixin private StageOptions stages;

    @Override
    protected List<String> parameters() {
      List<String> parameters = new ArrayList<>(super.parameters());
      parameters.addAll(stages.parameters());
      return parameters;
    }
  }

  @Command(
      name = "add",
      description = "Adds a backend with an unused id.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl backend add web 5 10.1.0.25",
        "  fairleadctl backend add web 6 10.1.0.26 --weight 50 --dry-run",
        "  fairleadctl backend add web 7 10.1.0.27 --slow-start 300",
        "  fairleadctl backend add web 8 10.1.0.28 --stage 1%%,10%%,100%% --bake 60s",
        "",
        "Buckets move to it at once, or in steps with --slow-start or --stage. Open",
        "connections stay on their backends. To add several backends in one step, use",
        "'fairleadctl changes'. 'fairleadctl stage show' shows how steps fare."
      })
  static final class Add extends Weighing {
    @Parameters(index = "2", paramLabel = "ADDRESS", description = "IPv4 or IPv6 address.")
    private String address;

    @SettingOption
    @Option(
        names = "--weight",
        paramLabel = "W",
        defaultValue = "100",
        description = "Share relative to other backends, 0..65535. Default: 100")
    private int weight;

    @SettingOption("/slowStartSeconds")
    @Option(
        names = "--slow-start",
        paramLabel = "SECONDS",
        description =
            "Time in which its share grows to that of its weight; 0: at once. Default: the"
                + " service's")
    private Integer slowStart;

    @Option(
        names = "--foreign",
        description =
            "It is an SRv6 end-point that does not know the protocol, such as End.DT4: packets to"
                + " it name no other server.")
    private boolean isForeign;

    @Override
    public Integer call() {
      ObjectNode changes = Json.object();
      ObjectNode add = changes.putArray("changes").addObject();
      add.put("op", "add").put("id", id()).put("address", address);
      SettingOption.Of.put(this, add);
      if (isForeign) {
        add.put("foreign", true);
      }
      String what = "%s at %s".formatted(name(), address);
      return write(
          "POST",
          servicePath(service()) + "/changes",
          changes,
          "added " + what,
          "would add " + what);
    }
  }

  @Command(
      name = "weight",
      description = "Sets the weight of a backend.",
      footerHeading = "%nExample:%n",
      footer = {
        "  fairleadctl backend weight web 5 200",
        "  fairleadctl backend weight web 5 200 --stage 10%%,100%%",
        "",
        "The weight takes effect at once, or in steps with --stage, and ends a slow",
        "start of the backend."
      })
  static final class Weight extends Weighing {
    @Parameters(index = "2", paramLabel = "W", description = "Weight, 0..65535.")
    private int weight;

    @Override
    public Integer call() {
      String what = "the weight of %s to %d".formatted(name(), weight);
      return write(
          "PATCH", path(), Json.object().put("weight", weight), "set " + what, "would set " + what);
    }
  }

  private abstract static class OfBackends extends MovingWrite {
    @Parameters(index = "0", paramLabel = "SERVICE", description = "Name of the service.")
    private String service;

    @Parameters(index = "1..*", arity = "1..*", paramLabel = "ID", description = "Ids of backends.")
    private List<Integer> ids;

    final String name() {
      return "backend%s %s of %s"
          .formatted(
              ids.size() == 1 ? "" : "s",
              ids.stream().map(String::valueOf).collect(Collectors.joining(", ")),
              service);
    }

    final String path(String resource) {
      return servicePath(service) + "/" + resource;
    }

    final ObjectNode order() {
      ObjectNode order = Json.object();
      ids.forEach(order.putArray("ids")::add);
      return order;
    }
  }

  @Command(
      name = "drain",
      description = "Drains backends: no new connections until the old ones have ended.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl backend drain web 5",
        "  fairleadctl backend drain web 7 8 9 --deadline 2h --then remove",
        "  fairleadctl drains web --watch",
        "",
        "Open connections continue. A drain ends when the server's agent reports that",
        "no connection is left, or at the deadline. Without an agent it ends when no",
        "bucket names the backend any more; connections may be left then. --then",
        "remove removes the backend at that point; connections that are left then",
        "break."
      })
  static final class Drain extends OfBackends {
    @SettingOption("/deadlineSeconds")
    @Option(
        names = "--deadline",
        paramLabel = "TIME",
        converter = SecondsConverter.class,
        description = "End after this time, such as 90s, 30m or 2h, even if connections are left.")
    private Integer deadline;

    @SettingOption
    @Option(
        names = "--then",
        paramLabel = "keep|remove",
        description = "Keep or remove the backends at the end. Default: keep")
    private String then;

    @Override
    public Integer call() {
      ObjectNode order = SettingOption.Of.put(this, order());
      return write("POST", path("drains"), order, "draining " + name(), "would drain " + name());
    }
  }

  @Command(
      name = "undrain",
      description = "Cancels drains: the backends get their old weights again.",
      footerHeading = "%nExample:%n",
      footer = "  fairleadctl backend undrain web 7 8")
  static final class Undrain extends OfBackends {
    @Override
    public Integer call() {
      return write(
          "POST",
          path("undrain"),
          order(),
          "cancelled the drain of " + name(),
          "would cancel the drain of " + name());
    }
  }

  @Command(
      name = "hold-health",
      description = "Ignores health results for backends.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl backend hold-health web 7 8",
        "  fairleadctl backend release-health web 7 8",
        "",
        "Probes continue, but their results are ignored. A backend that was out of",
        "service because of its health returns at once. Drains, and backends of",
        "weight 0, stay as they are."
      })
  static final class HoldHealth extends OfBackends {
    @Override
    public Integer call() {
      String what = "%s whatever probes find".formatted(name());
      return write("POST", path("hold-health"), order(), "keeping " + what, "would keep " + what);
    }
  }

  @Command(
      name = "release-health",
      description = "Applies health results to backends again.",
      footerHeading = "%nExample:%n",
      footer = "  fairleadctl backend release-health web 7 8")
  static final class ReleaseHealth extends OfBackends {
    @Override
    public Integer call() {
      return write(
          "POST",
          path("release-health"),
          order(),
          "applies health to " + name(),
          "would apply health to " + name());
    }
  }

  @Command(
      name = "remove",
      description = "Removes a backend. Drain it first, or use 'drain --then remove'.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl backend remove web 5",
        "  fairleadctl backend remove web 5 --dead",
        "",
        "Use --dead if the machine is gone, even if the backend is removed already.",
        "Its connections are then reset at once instead of after the window, and its",
        "buckets keep their other former owners. Make sure that the machine is",
        "gone: nothing checks it."
      })
  static final class Remove extends OfBackend {
    @Option(names = "--dead", description = "The machine is gone: chain no connections to it.")
    private boolean isDead;

    @Override
    protected List<String> parameters() {
      List<String> parameters = new ArrayList<>(super.parameters());
      if (isDead) {
        parameters.add("dead=true");
      }
      return parameters;
    }

    @Override
    public Integer call() {
      return write(
          "DELETE",
          path(),
          MissingNode.getInstance(),
          "removed " + name(),
          "would remove " + name());
    }
  }

  @Command(
      name = "list",
      description = "Lists the backends of a service.",
      footerHeading = "%nExample:%n",
      footer = {
        "  fairleadctl backend list web",
        "",
        "AGENT is the state of the agent on the server:",
        "  reporting           it reports",
        "  silent              it stopped, perhaps with the whole machine",
        "  none                the leader never heard of one",
        "  unknown             no controller leads",
        "  detached from eth0  the server takes no packets from muxes: the interface",
        "                      has no XDP program, or the module is not set up. Agents",
        "                      check this with --interface or --form module."
      })
  static final class ListAll extends Verb {
    @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
    private String service;

    @Override
    public Integer call() {
      print(
          api().get(servicePath(service) + "/backends"),
          backends -> {
            if (backends.isEmpty()) {
              printf("service %s has no backends%n", service);
              return;
            }
            long total = 0;
            for (JsonNode backend : backends) {
              total += backend.path("buckets").asLong();
            }
            Optional<Map<Integer, JsonNode>> agents = agents();
            Table table =
                new Table("ID", "ADDRESS", "WEIGHT", "STATE", "BUCKETS", "SHARE", "AGENT");
            for (JsonNode backend : backends) {
              table.row(
                  backend.path("id").asText(),
                  backend.path("address").asText(),
                  backend.path("weight").asText(),
                  state(backend),
                  backend.path("buckets").asText(),
                  Table.percent(backend.path("buckets").asLong(), total),
                  agents.map(all -> agent(all.get(backend.path("id").asInt()))).orElse("unknown"));
            }
            table.print(out());
          });
      return 0;
    }

    /** By backend; empty if no controller leads: the leader alone knows. */
    private Optional<Map<Integer, JsonNode>> agents() {
      Map<Integer, JsonNode> agents = new HashMap<>();
      try {
        for (JsonNode agent : api().get("/v1/agents").json()) {
          if (agent.path("service").asText().equals(service)) {
            agents.put(agent.path("backend").asInt(), agent);
          }
        }
      } catch (Api.RefusedException | Api.UnreachableException e) {
        return Optional.empty();
      }
      return Optional.of(agents);
    }

    private static String agent(JsonNode agent) {
      String state = agent == null ? "never_heard" : agent.path("state").asText();
      JsonNode form = agent == null ? MissingNode.getInstance() : agent.path("form");
      if (!state.equals("silent") && !form.path("attached").asBoolean(true)) {
        return form.has("interface")
            ? "detached from " + form.path("interface").asText()
            : "detached: no " + form.path("kind").asText() + " serves";
      }
      return switch (state) {
        case "never_heard" -> "none";
        case "silent" -> "silent for %.0f s".formatted(agent.path("ageSeconds").asDouble());
        default -> state;
      };
    }

    private static String state(JsonNode backend) {
      String kind = backend.path("foreign").asBoolean() ? ", foreign" : "";
      String state = backend.path("state").asText() + kind;
      if (!backend.path("unreachableBy").isEmpty()) {
        List<String> muxes = new ArrayList<>();
        backend.path("unreachableBy").forEach(mux -> muxes.add(mux.asText()));
        state += ", unreachable by " + String.join(" ", muxes);
      }
      if (backend.path("drain").has("end")) {
        return "drained: " + backend.path("drain").path("end").path("reason").asText();
      }
      JsonNode start = backend.path("slowStart");
      return start.isMissingNode()
          ? state
          : "%s, starting: %.0f %%".formatted(state, start.path("share").asDouble() * 100);
    }
  }
}
