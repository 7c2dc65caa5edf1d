// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.cli.OnLoss;
import io.fairlead.controller.cli.Verb;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.plan.PoolPlan;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.repository.Backup;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "replay",
    description = {
      "Says what a change would do to recorded connections, and changes nothing.",
      "It names how many would be chained, over how many hops, and how many would break, and the"
          + " load of each server before and after."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  curl -o flows.pcapng --unix-socket /run/fairlead-mux/http.sock \\",
      "    'http://mux/sample?seconds=60&rate=1000&service=web'",
      "  echo '{\"changes\": [{\"op\": \"weight\", \"id\": 1, \"weight\": 0}]}' > drain.json",
      "  fairleadctl replay web --flows flows.pcapng --change drain.json",
      "",
      "Buckets follow from the service's hash key, so it needs a token of role admin,",
      "to read a backup, or --backup FILE."
    })
public final class ReplayCommand extends Verb {
  private static final double SECOND_SHARE_OF_MAAT = 0.5;
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  @Parameters(paramLabel = "SERVICE", description = "Name of the service.")
  private String service;

  @Option(
      names = "--flows",
      required = true,
      paramLabel = "FILE",
      description =
          "The recorded connections: pcapng (of a mux's /sample, or of a router's port), IPFIX"
              + " messages, or text with a line of columns: protocol,source,sourcePort,"
              + "destination,destinationPort,start,end, and packets,bytes if known.")
  private Path flows;

  @Option(
      names = "--change",
      required = true,
      paramLabel = "FILE",
      description = "The change as JSON, as 'fairleadctl changes -f' takes it.")
  private Path change;

  @Option(
      names = "--backup",
      paramLabel = "FILE",
      description =
          "A backup with the service, in place of the controller's state now; asks no controller.")
  private Path backup;

  @Option(
      names = "--at",
      paramLabel = "TIME",
      description =
          "When the change takes place in the recording, such as 2026-11-30T20:15:00Z. Default: at"
              + " its last packet")
  private String at;

  @Option(
      names = "--began",
      paramLabel = "TIME",
      description =
          "When connections began whose beginning was not recorded. Default: not known, so that the"
              + " server of those in buckets that moved lately is not, either")
  private String began;

  @Option(
      names = "--idle",
      paramLabel = "SECONDS",
      defaultValue = "60",
      description =
          "For how long a connection counts as open after a packet, unless its end was recorded."
              + " Default: 60")
  private int idleSeconds;

  @Option(
      names = "--second-share",
      paramLabel = "SHARE",
      description =
          "With steering hunt or maat, the share of connections that their second server took."
              + " Default: 0 with hunt, 0.5 with maat")
  private Double secondShare;

  @ArgGroup private OnLoss onLoss = new OnLoss();

  /** The body of {@code POST /v1/services/NAME/changes}. */
  private record Changes(@JsonProperty(value = "changes", required = true) List<Change> changes) {}

  @Override
  public Integer call() {
    if (idleSeconds < 0 || idleSeconds > 86_400) {
      throw usage("--idle '%d' is refused; allowed: 0..86400".formatted(idleSeconds));
    }
    if (secondShare != null && !(secondShare >= 0 && secondShare <= 1)) {
      throw usage("--second-share '%s' is refused; allowed: 0 to 1".formatted(secondShare));
    }
    Optional<Long> asked = Optional.ofNullable(at).map(time -> millis("--at", time));
    Optional<Long> begun = Optional.ofNullable(began).map(time -> millis("--began", time));
    List<Change> changes = changes();
    ServiceImage before = image();
    FlowTable table = read(before);
    if (table.size() == 0) {
      throw usage(
          ("--flows '%s' is refused: none of its %d records is of service '%s'; allowed:"
                  + " connections to %s, ports %s")
              .formatted(
                  flows, table.others(), service, before.config().vips(), before.config().ports()));
    }
    long when = asked.orElse(table.last());
    PoolPlan plan = plan(before, changes, when);
    Forecast forecast =
        new Forecast(
            before,
            plan.after(),
            dead(changes),
            when,
            new Forecast.Assumptions(idleSeconds * 1000L, share(before), begun));
    table.forEach(forecast);
    new ReplayReport(before, plan, table, forecast, when).print(isTable(), out());
    return 0;
  }

  private double share(ServiceImage image) {
    if (secondShare != null) {
      return secondShare;
    }
    return switch (image.config().steering()) {
      case MAAT -> SECOND_SHARE_OF_MAAT;
      default -> 0;
    };
  }

  private long millis(String option, String text) {
    try {
      return Instant.parse(text).toEpochMilli();
    } catch (DateTimeParseException | ArithmeticException e) {
      throw usage(
          "%s '%s' is refused; allowed: a time such as 2026-11-30T20:15:00Z"
              .formatted(option, text));
    }
  }

  private List<Change> changes() {
    String allowed =
        "{\"changes\": [...]}, as 'fairleadctl changes -f' takes it (POST"
            + " /v1/services/NAME/changes)";
    try {
      List<Change> changes = MAPPER.readValue(readAll("--change", change), Changes.class).changes();
      if (changes == null || changes.contains(null)) {
        throw usage(
            "--change '%s' is refused: it has null; allowed: %s".formatted(change, allowed));
      }
      return changes;
    } catch (JsonProcessingException e) {
      throw usage(
          "--change '%s' is refused: line %d: %s; allowed: %s"
              .formatted(
                  change,
                  e.getLocation() == null ? 1 : e.getLocation().getLineNr(),
                  e.getOriginalMessage().lines().findFirst().orElse(""),
                  allowed));
    }
  }

  private String readAll(String option, Path file) {
    try {
      return Files.readString(file, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw unreadable(option, file, e);
    }
  }

  private RuntimeException unreadable(String option, Path file, IOException e) {
    String why = e instanceof NoSuchFileException ? "there is none" : e.toString();
    return usage("%s '%s' cannot be read: %s; allowed: a file".formatted(option, file, why));
  }

  private ServiceImage image() {
    Backup read;
    try {
      read =
          backup == null
              ? Backup.read("the controller's answer", api().get("/v1/backup").text())
              : Backup.read("--backup '%s'".formatted(backup), readAll("--backup", backup));
    } catch (IllegalArgumentException e) {
      throw usage(e.getMessage());
    }
    return read.images().stream()
        .filter(image -> image.config().name().equals(service))
        .findFirst()
        .orElseThrow(
            () ->
                usage(
                    "service '%s' is refused; allowed: one of %s"
                        .formatted(
                            service,
                            read.images().stream()
                                .map(image -> image.config().name())
                                .collect(Collectors.joining(", ")))));
  }

  private FlowTable read(ServiceImage image) {
    FlowTable table = new FlowTable(image.config());
    try (InputStream in = Files.newInputStream(flows)) {
      FlowFile.read(in, table);
      return table;
    } catch (BadFlowsException | FlowTable.FullException e) {
      throw usage("--flows '%s' is refused: %s".formatted(flows, e.getMessage()));
    } catch (IOException e) {
      throw unreadable("--flows", flows, e);
    }
  }

  /** All of the change, also where it would take effect in steps. */
  private PoolPlan plan(ServiceImage before, List<Change> changes, long when) {
    List<String> words = onLoss.parameters();
    WriteOptions options = WriteOptions.PLAN.with(Optional.of(WriteOptions.Stages.AT_ONCE));
    if (words.contains("force=true")) {
      options = options.with(WriteOptions.OnLoss.FORCE);
    } else if (words.contains("whenSafe=true")) {
      options = options.with(WriteOptions.OnLoss.WAIT);
    }
    try {
      return PoolPlan.of(before, changes, Instant.ofEpochMilli(when), options);
    } catch (Refusal e) {
      throw usage("--change '%s' is refused: %s".formatted(change, e.getMessage()));
    }
  }

  private static Set<Integer> dead(List<Change> changes) {
    return changes.stream()
        .filter(each -> each instanceof Change.Remove remove && remove.dead())
        .map(Change::id)
        .collect(Collectors.toUnmodifiableSet());
  }
}
