// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.MovingWrite;
import io.fairlead.controller.cli.SettingOption;
import io.fairlead.controller.cli.Table;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.cli.Write;
import io.fairlead.controller.core.words.Encap;
import io.fairlead.controller.resources.stages.StageCommands;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.TypeConversionException;

/** Services: VIPs with their protocols and ports. */
@Command(
    name = "service",
    description = "Services: VIPs with their protocols and ports.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      ServiceCommands.Create.class,
      ServiceCommands.ListAll.class,
      ServiceCommands.Show.class,
      ServiceCommands.Change.class,
      ServiceCommands.Delete.class,
      ServiceCommands.Undelete.class
    })
public final class ServiceCommands {
  private ServiceCommands() {}

  /** A protocol and port, {@code tcp:80}; the controller checks the number. */
  record Port(String protocol, int port) {}

  static final class PortConverter implements ITypeConverter<Port> {
    @Override
    public Port convert(String text) {
      if (!text.matches("(tcp|udp):[0-9]{1,5}")) {
        throw new TypeConversionException(
            "'%s' is refused; allowed: tcp:PORT or udp:PORT".formatted(text));
      }
      return new Port(text.substring(0, 3), Integer.parseInt(text.substring(4)));
    }
  }

  @Command(
      name = "create",
      description = "Creates a service with an empty pool.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl service create web --vip 10.99.0.1 --port tcp:80 --port tcp:443",
        "  fairleadctl service create dns --vip 10.99.0.5 --port udp:53 --max-backends 50",
        "  fairleadctl service create app --vip 10.99.0.2 --port tcp:80 --steering hunt",
        "  fairleadctl service create api --vip 10.99.0.3 --port tcp:80 --health http",
        "",
        "The first service of a cluster needs --vip-range, unless 'cluster set' was",
        "used. The number of buckets never changes: it is 100 times --max-backends,",
        "rounded up to a power of two. So allow for all backends that the service",
        "may ever have."
      })
  static final class Create extends Write {
    @Parameters(
        paramLabel = "NAME",
        description = "Name of the service, a DNS label in lower case.")
    private String name;

    @SettingOption
    @Option(
        names = "--vip",
        required = true,
        arity = "1..*",
        split = ",",
        paramLabel = "IP",
        description = "Virtual addresses of the service; may be repeated.")
    private List<String> vips;

    @SettingOption
    @Option(
        names = "--port",
        required = true,
        arity = "1..*",
        split = ",",
        paramLabel = "PROTO:PORT",
        converter = PortConverter.class,
        description = "Protocols and ports, such as tcp:80; may be repeated.")
    private List<Port> ports;

    @SettingOption("/vipRanges")
    @Option(
        names = "--vip-range",
        split = ",",
        paramLabel = "RANGE",
        description =
            "For the cluster's first service: the range of all VIPs, such as 10.99.0.0/16.")
    private List<String> ranges;

    @ArgGroup private Size size = new Size();

    @SettingOption
    @Option(
        names = "--hash",
        paramLabel = "HASH",
        description = "Flow hash: siphash (default), or crc32, which switches can compute.")
    private String hash;

    @SettingOption
    @Option(
        names = "--hash-key",
        paramLabel = "HEX",
        description = "Key of siphash, 32 hex digits. Default: random")
    private String hashKey;

    @SettingOption
    @Option(
        names = "--affinity",
        paramLabel = "WHAT",
        description = "What stays on one backend: each connection (default), or each client.")
    private String affinity;

    @SettingOption
    @Option(names = "--encap", paramLabel = "HOW", description = Encap.HELP)
    private String encap;

    @SettingOption
    @Option(
        names = "--steering",
        paramLabel = "METHOD",
        description = "How muxes choose backends: ring (default), othello, or by load: hunt, maat.")
    private String steering;

    @SettingOption("/maat/preset")
    @Option(
        names = "--maat-preset",
        paramLabel = "NAME",
        description = "maat: paper selects the Maat paper's defaults.")
    private String preset;

    @Mixin private ServiceSettings settings;

    static final class Size {
      @SettingOption
      @Option(
          names = "--max-backends",
          paramLabel = "N",
          description = "Most backends that the service will ever have. Default: 100")
      private Integer maxBackends;

      @SettingOption
      @Option(
          names = "--buckets",
          paramLabel = "N",
          description = "Number of buckets, a power of two in 256..8388608.")
      private Integer buckets;
    }

    @Override
    public Integer call() {
      ObjectNode spec = Json.object().put("name", name);
      SettingOption.Of.put(this, spec);
      SettingOption.Of.put(size, spec);
      settings.addTo(spec);
      return write(
          "POST", "/v1/services", spec, "created service " + name, "would create service " + name);
    }
  }

  @Command(
      name = "list",
      description = "Lists all services.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl service list",
        "  fairleadctl service list -o json | jq -r '.[].name'"
      })
  static final class ListAll extends Verb {
    @Override
    public Integer call() {
      print(
          api().get("/v1/services"),
          services -> {
            if (services.isEmpty()) {
              out().println("there are no services");
              return;
            }
            Table table =
                new Table("NAME", "ID", "VIPS", "PORTS", "BUCKETS", "BACKENDS", "GENERATION");
            for (JsonNode service : services) {
              table.row(
                  service.path("name").asText(),
                  service.path("id").asText(),
                  vips(service),
                  ports(service),
                  service.path("buckets").asText(),
                  service.path("backends").asText(),
                  service.path("generation").asText());
            }
            table.print(out());
          });
      return 0;
    }
  }

  @Command(
      name = "show",
      description = "Shows one service.",
      footerHeading = "%nExample:%n",
      footer = "  fairleadctl service show web")
  static final class Show extends Verb {
    @Parameters(paramLabel = "NAME", description = "Name of the service.")
    private String name;

    @Override
    public Integer call() {
      print(
          api().get(servicePath(name)),
          service -> {
            Fields fields = new Fields();
            for (String field : List.of("name", "id")) {
              fields.add(field, service.path(field).asText());
            }
            fields.add("vips", vips(service));
            fields.add("ports", ports(service));
            for (String field :
                List.of("steering", "buckets", "hash", "affinity", "assignment", "encap")) {
              fields.add(field, service.path(field).asText());
            }
            ServiceSettings.show(service, fields);
            fields.add("generation", service.path("generation").asText());
            fields.add("backends", service.path("backends").asText());
            if (service.has("staging")) {
              fields.add("staged change", StageCommands.words(service.path("staging")));
            }
            fields.print(out());
          });
      return 0;
    }
  }

  @Command(
      name = "change",
      description = "Changes a service's settings.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl service change web --vip 10.99.0.1 10.99.0.2",
        "  fairleadctl service change web --window 600 --dry-run",
        "  fairleadctl service change web --quic-server-id 1:2 --max-segment-size none",
        "",
        "Only the settings that you give change. --vip and --port replace the whole",
        "list. Buckets, hash and affinity cannot change, because they decide which",
        "bucket a live connection is in. Nor can the encapsulation, because servers",
        "are set up for it."
      })
  static final class Change extends MovingWrite {
    @Parameters(paramLabel = "NAME", description = "Name of the service.")
    private String name;

    @SettingOption
    @Option(
        names = "--vip",
        arity = "1..*",
        split = ",",
        paramLabel = "IP",
        description = "Replaces the list of virtual addresses; may be repeated.")
    private List<String> vips;

    @SettingOption
    @Option(
        names = "--port",
        arity = "1..*",
        split = ",",
        paramLabel = "PROTO:PORT",
        converter = PortConverter.class,
        description = "Replaces the list of protocols and ports; may be repeated.")
    private List<Port> ports;

    @Mixin private ServiceSettings settings;

    @Override
    public Integer call() {
      ObjectNode change = SettingOption.Of.put(this, Json.object());
      settings.addTo(change);
      if (change.isEmpty()) {
        throw usage(
            "nothing to change; allowed: --vip, --port, "
                + String.join(", ", ServiceSettings.names()));
      }
      return write(
          "PATCH",
          servicePath(name),
          change,
          "changed service " + name,
          "would change service " + name);
    }
  }

  @Command(
      name = "delete",
      description = "Deletes a service with its backends; its connections end.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  fairleadctl service delete web --dry-run",
        "  fairleadctl service delete web",
        "",
        "Prints how many connections end. 'service undelete' restores it within 7 days."
      })
  static final class Delete extends Write {
    @Parameters(paramLabel = "NAME", description = "Name of the service.")
    private String name;

    @Override
    public Integer call() {
      return write(
          "DELETE",
          servicePath(name),
          MissingNode.getInstance(),
          "deleted service " + name,
          "would delete service " + name);
    }
  }

  @Command(
      name = "undelete",
      description = "Restores a deleted service, with its hash key, backends and buckets.",
      footerHeading = "%nExample:%n",
      footer = {
        "  fairleadctl service undelete web",
        "",
        "This works for 7 days, unless a new service has the name. Connections that",
        "client and server have not closed since continue."
      })
  static final class Undelete extends Write {
    @Parameters(paramLabel = "NAME", description = "Name that the service had.")
    private String name;

    @Override
    public Integer call() {
      return write(
          "POST",
          servicePath(name) + "/undelete",
          Json.object(),
          "restored service " + name,
          "would restore service " + name);
    }
  }

  private static String vips(JsonNode service) {
    List<String> vips = new ArrayList<>();
    service.path("vips").forEach(vip -> vips.add(vip.asText()));
    return String.join(" ", vips);
  }

  private static String ports(JsonNode service) {
    List<String> ports = new ArrayList<>();
    for (JsonNode port : service.path("ports")) {
      ports.add(port.path("protocol").asText() + ":" + port.path("port").asText());
    }
    return String.join(" ", ports);
  }
}
