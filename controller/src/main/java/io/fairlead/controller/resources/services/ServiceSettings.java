// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.SettingOption;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options that {@code service create} and {@code service change} share. */
final class ServiceSettings {
  private static final int BY_DEFAULT = -1;

  @SettingOption
  @Option(
      names = "--window",
      paramLabel = "SECONDS",
      description = "How long muxes chain connections of moved buckets. New services: 240")
  private Integer windowSeconds;

  @Option(
      names = "--hold",
      paramLabel = "SECONDS",
      converter = HoldConverter.class,
      description =
          "How long connections may outlive the window, 0..604800; or default (new services):"
              + " 86400 once agents of all backends report")
  private Integer hold;

  @SettingOption
  @Option(
      names = "--mptcp-ports",
      paramLabel = "FIRST-LAST",
      converter = MptcpPortsConverter.class,
      description = "TCP ports for MPTCP: FIRST plus a backend's id leads to it; or none.")
  private MptcpPorts mptcpPorts;

  @SettingOption
  @Option(
      names = "--assignment",
      paramLabel = "METHOD",
      description =
          "How buckets get owners: beamer (new services), maglev, consistent, rendezvous or"
              + " modulo.")
  private String assignment;

  @SettingOption
  @Option(
      names = "--quic-server-id",
      paramLabel = "OFFSET:LENGTH",
      converter = QuicServerIdConverter.class,
      description = "Where QUIC connection ids have the backend's id, such as 1:2; or none.")
  private QuicServerId quicServerId;

  @SettingOption
  @Option(
      names = "--max-segment-size",
      paramLabel = "BYTES",
      converter = SegmentSizeConverter.class,
      description = "Upper limit of the MSS in clients' SYNs, 536..65535; or none.")
  private Integer maxSegmentSize;

  @SettingOption
  @Option(
      names = "--stateless-udp",
      paramLabel = "true|false",
      arity = "1",
      description = "Do not chain datagrams, because each is answered independently, as in DNS.")
  private Boolean statelessUdp;

  @SettingOption
  @Option(
      names = "--packets-per-second",
      paramLabel = "N",
      description = "Most packets that each mux forwards to it; 0 for no limit. New services: 0")
  private Integer packetsPerSecond;

  @SettingOption
  @Option(
      names = "--bytes-per-second",
      paramLabel = "N",
      description = "Most bytes, of IP packets, that each mux forwards to it; 0 for no limit.")
  private Long bytesPerSecond;

  @SettingOption
  @Option(
      names = "--slow-start",
      paramLabel = "SECONDS",
      description =
          "Time in which an added backend's share grows to that of its weight. New services: 0")
  private Integer slowStartSeconds;

  @SettingOption("/maintenance/maxDraining")
  @Option(
      names = "--max-draining",
      paramLabel = "N|P%",
      description = "Most backends that may drain at once, such as 2 or 25%%.")
  private String maxDraining;

  @Mixin private StageSettingsOptions stages;

  @SettingOption("/othello/reportAgeSeconds")
  @Option(
      names = "--report-age",
      paramLabel = "SECONDS",
      description = "othello: age at which agents report a connection. Default: window / 4")
  private Integer reportAge;

  @SettingOption("/othello/spacingSeconds")
  @Option(
      names = "--spacing",
      paramLabel = "SECONDS",
      description = "othello: minimum time between two sets of arrays. Default: window / 2")
  private Integer spacing;

  @Mixin private LoadSettings load;

  @Mixin private HealthSettings health;

  /**
   * A range of ports, {@code 20000-20999}; {@code none} is 0 to 0. The controller checks the rest.
   */
  record MptcpPorts(int first, int last) {}

  /**
   * The place of a backend's id in QUIC connection ids, {@code 1:2}; {@code none} is 0 and 0. The
   * controller checks the numbers.
   */
  record QuicServerId(int offset, int length) {}

  static final class QuicServerIdConverter implements ITypeConverter<QuicServerId> {
    @Override
    public QuicServerId convert(String text) {
      if (text.equals("none")) {
        return new QuicServerId(0, 0);
      }
      if (!text.matches("[0-9]{1,2}:[0-9]")) {
        throw new TypeConversionException(
            "'%s' is refused; allowed: OFFSET:LENGTH, such as 1:2, or none to change it"
                .formatted(text));
      }
      String[] parts = text.split(":", 2);
      return new QuicServerId(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]));
    }
  }

  /** Seconds, or {@link #BY_DEFAULT}. The controller checks the number. */
  static final class HoldConverter implements ITypeConverter<Integer> {
    @Override
    public Integer convert(String text) {
      if (text.equals("default")) {
        return BY_DEFAULT;
      }
      if (!text.matches("[0-9]{1,6}")) {
        throw new TypeConversionException(
            "'%s' is refused; allowed: seconds, 0..604800, or default".formatted(text));
      }
      return Integer.valueOf(text);
    }
  }

  /** Bytes; {@code none} is 0. The controller checks the number. */
  static final class SegmentSizeConverter implements ITypeConverter<Integer> {
    @Override
    public Integer convert(String text) {
      if (text.equals("none")) {
        return 0;
      }
      if (!text.matches("[0-9]{1,5}")) {
        throw new TypeConversionException(
            "'%s' is refused; allowed: bytes, such as 1400, or none to change it".formatted(text));
      }
      return Integer.valueOf(text);
    }
  }

  static final class MptcpPortsConverter implements ITypeConverter<MptcpPorts> {
    @Override
    public MptcpPorts convert(String text) {
      if (text.equals("none")) {
        return new MptcpPorts(0, 0);
      }
      if (!text.matches("[0-9]{1,5}-[0-9]{1,5}")) {
        throw new TypeConversionException(
            "'%s' is refused; allowed: FIRST-LAST, or none to change it".formatted(text));
      }
      String[] ends = text.split("-");
      return new MptcpPorts(Integer.parseInt(ends[0]), Integer.parseInt(ends[1]));
    }
  }

  /** All names that a user may give. */
  static List<String> names() {
    return Stream.of(
            ServiceSettings.class,
            StageSettingsOptions.class,
            LoadSettings.class,
            HealthSettings.class)
        .flatMap(SettingOption.Of::names)
        .toList();
  }

  /** Adds the fields of the options that were given. */
  void addTo(ObjectNode spec) {
    if (hold != null && hold == BY_DEFAULT) {
      spec.put("holdByDefault", true);
    } else if (hold != null) {
      spec.put("holdSeconds", hold);
    }
    SettingOption.Of.put(this, spec);
    SettingOption.Of.put(stages, spec);
    SettingOption.Of.put(load, spec);
    SettingOption.Of.put(health, spec);
  }

  /** Adds what a service has of them. */
  static void show(JsonNode service, Fields fields) {
    fields.add("window", service.path("windowSeconds").asText() + " s");
    boolean isDefault = service.path("holdByDefault").asBoolean();
    if (service.has("holdSeconds") || isDefault) {
      fields.add(
          "hold", service.path("holdSeconds").asInt() + " s" + (isDefault ? ", by default" : ""));
    }
    if (service.has("mptcpPorts")) {
      JsonNode range = service.path("mptcpPorts");
      fields.add("mptcp ports", range.path("first").asText() + "-" + range.path("last").asText());
    }
    if (service.has("quicServerId")) {
      JsonNode at = service.path("quicServerId");
      fields.add("quic server id", at.path("offset").asText() + ":" + at.path("length").asText());
    }
    addIfThere(fields, "max segment", service, "maxSegmentSize");
    addIfThere(fields, "stateless udp", service, "statelessUdp");
    addIfThere(fields, "packets/s", service, "packetsPerSecond");
    addIfThere(fields, "bytes/s", service, "bytesPerSecond");
    if (service.has("maintenance")) {
      fields.add("max draining", service.path("maintenance").path("maxDraining").asText());
    }
    if (service.has("othello")) {
      JsonNode othello = service.path("othello");
      fields.add("report age", othello.path("reportAgeSeconds").asText() + " s");
      fields.add("spacing", othello.path("spacingSeconds").asText() + " s");
    }
    StageSettingsOptions.show(service, fields);
    LoadSettings.show(service, fields);
    HealthSettings.show(service, fields);
    if (service.has("slowStartSeconds")) {
      fields.add("slow start", service.path("slowStartSeconds").asText() + " s");
    }
  }

  private static void addIfThere(Fields fields, String name, JsonNode service, String field) {
    if (service.has(field)) {
      fields.add(name, service.path(field).asText());
    }
  }
}
