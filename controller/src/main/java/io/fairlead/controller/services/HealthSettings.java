// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Fields;
import java.util.List;
import picocli.CommandLine.Option;

/** The options of health checks that {@code service create} and {@code change} share. */
final class HealthSettings {
  static final List<String> NAMES =
      List.of(
          "--health",
          "--health-port",
          "--health-path",
          "--health-host",
          "--health-verify",
          "--health-status",
          "--health-body",
          "--health-send",
          "--health-answer",
          "--health-command",
          "--health-interval",
          "--health-timeout",
          "--health-rise",
          "--health-fall",
          "--health-jitter",
          "--health-panic",
          "--health-max-out",
          "--health-withdraw",
          "--health-dead");

  @Option(
      names = "--health",
      paramLabel = "KIND",
      description = "How backends are probed: tcp, http, https, udp, command; or none.")
  private String kind;

  @Option(
      names = "--health-port",
      paramLabel = "PORT",
      description = "Port to probe; 0: each of the service's. Default: 0")
  private Integer port;

  @Option(names = "--health-path", paramLabel = "PATH", description = "Of http. Default: /")
  private String path;

  @Option(
      names = "--health-host",
      paramLabel = "NAME",
      description = "Of http: host name, also for TLS. Default: the VIP")
  private String host;

  @Option(
      names = "--health-verify",
      arity = "1",
      paramLabel = "true|false",
      description = "Of https: check the certificate. Default: false")
  private Boolean verify;

  @Option(
      names = "--health-status",
      paramLabel = "LIST",
      description = "Of http: statuses that are fine. Default: 200-399")
  private String status;

  @Option(
      names = "--health-body",
      paramLabel = "TEXT",
      description = "Of http: text that the body must have.")
  private String body;

  @Option(
      names = "--health-send",
      paramLabel = "HEX",
      description = "Of udp: the datagram, as hex digits.")
  private String send;

  @Option(
      names = "--health-answer",
      paramLabel = "HEX",
      description = "Of udp: bytes that the answer must have.")
  private String answer;

  @Option(
      names = "--health-command",
      paramLabel = "NAME",
      description = "Of command: file in the probes' folder of commands.")
  private String command;

  @Option(
      names = "--health-interval",
      paramLabel = "MS",
      description = "From one probe to the next, 500..3600000. Default: 5000")
  private Integer interval;

  @Option(
      names = "--health-timeout",
      paramLabel = "MS",
      description = "For an answer, 50..60000, at most the interval. Default: 2000")
  private Integer timeout;

  @Option(
      names = "--health-rise",
      paramLabel = "N",
      description = "Successes in a row that make a backend up, 1..20. Default: 2")
  private Integer rise;

  @Option(
      names = "--health-fall",
      paramLabel = "N",
      description = "Failures in a row that make it down, 1..20. Default: 3")
  private Integer fall;

  @Option(
      names = "--health-jitter",
      paramLabel = "PERCENT",
      description = "Of the interval, by which it varies, 0..50. Default: 10")
  private Integer jitter;

  @Option(
      names = "--health-panic",
      paramLabel = "PERCENT",
      description = "Of backends that must be healthy; below, health is ignored. Default: 50")
  private Integer panic;

  @Option(
      names = "--health-max-out",
      paramLabel = "N|N%%",
      description = "How many may be out of service at once. Default: 50%%")
  private String maxOut;

  @Option(
      names = "--health-withdraw",
      arity = "1",
      paramLabel = "true|false",
      description = "Withdraw the VIPs when no backend is healthy. Default: false")
  private Boolean withdraw;

  @Option(
      names = "--health-dead",
      arity = "1",
      paramLabel = "true|false",
      description = "Remove servers as dead whose ports and agent are silent. Default: false")
  private Boolean dead;

  /** Adds the fields of the options that were given. */
  void addTo(ObjectNode spec) {
    put(spec, "", "kind", kind);
    put(spec, "", "port", port);
    put(spec, "", "path", path);
    put(spec, "", "host", host);
    put(spec, "", "verify", verify);
    put(spec, "/expect", "status", status);
    put(spec, "/expect", "body", body);
    put(spec, "", "send", send);
    put(spec, "/expect", "hex", answer);
    put(spec, "", "command", command);
    put(spec, "", "intervalMillis", interval);
    put(spec, "", "timeoutMillis", timeout);
    put(spec, "", "rise", rise);
    put(spec, "", "fall", fall);
    put(spec, "", "jitterPercent", jitter);
    put(spec, "/action", "panicPercent", panic);
    put(spec, "/action", "maxOut", maxOut);
    put(spec, "/action", "withdraw", withdraw);
    put(spec, "/action", "dead", dead);
  }

  private static void put(ObjectNode spec, String where, String field, Object value) {
    if (value != null) {
      spec.withObject("/healthCheck" + where).putPOJO(field, value);
    }
  }

  /** Adds the service's check, if it has one. */
  static void show(JsonNode service, Fields fields) {
    JsonNode check = service.path("healthCheck");
    if (!check.isObject()) {
      return;
    }
    StringBuilder what = new StringBuilder(check.path("kind").asText());
    for (String field : List.of("port", "host", "path", "verify", "send", "command")) {
      if (check.has(field)) {
        what.append(" ").append(field).append(" ").append(check.path(field).asText());
      }
    }
    fields.add("health check", what.toString());
    check
        .path("expect")
        .properties()
        .forEach(field -> fields.add("expect " + field.getKey(), field.getValue().asText()));
    fields.add(
        "health timing",
        "every %s ms +-%s %%, timeout %s ms, up after %s, down after %s"
            .formatted(
                check.path("intervalMillis").asText(),
                check.path("jitterPercent").asText(),
                check.path("timeoutMillis").asText(),
                check.path("rise").asText(),
                check.path("fall").asText()));
    JsonNode action = check.path("action");
    fields.add(
        "health action",
        "at most %s out, ignored below %s %% healthy%s%s"
            .formatted(
                action.path("maxOut").asText(),
                action.path("panicPercent").asText(),
                action.path("withdraw").asBoolean() ? ", VIPs withdrawn without a healthy one" : "",
                action.path("dead").asBoolean() ? ", silent servers removed as dead" : ""));
  }
}
