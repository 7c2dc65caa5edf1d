// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import com.fasterxml.jackson.databind.JsonNode;
import io.fairlead.controller.cli.Fields;
import io.fairlead.controller.cli.SettingOption;
import java.util.List;
import picocli.CommandLine.Option;

/** The options of health checks that {@code service create} and {@code change} share. */
final class HealthSettings {
  @SettingOption("/healthCheck/kind")
  @Option(
      names = "--health",
      paramLabel = "KIND",
      description = "How to probe backends: tcp, http, https, udp or command; or none.")
  private String kind;

  @SettingOption("/healthCheck/port")
  @Option(
      names = "--health-port",
      paramLabel = "PORT",
      description = "Port to probe; 0: all of the service's ports. Default: 0")
  private Integer port;

  @SettingOption("/healthCheck/path")
  @Option(
      names = "--health-path",
      paramLabel = "PATH",
      description = "http: path to request. Default: /")
  private String path;

  @SettingOption("/healthCheck/host")
  @Option(
      names = "--health-host",
      paramLabel = "NAME",
      description = "http: host name, also for TLS. Default: the VIP")
  private String host;

  @SettingOption("/healthCheck/verify")
  @Option(
      names = "--health-verify",
      arity = "1",
      paramLabel = "true|false",
      description = "https: verify the certificate. Default: false")
  private Boolean verify;

  @SettingOption("/healthCheck/expect/status")
  @Option(
      names = "--health-status",
      paramLabel = "LIST",
      description = "http: status codes of a healthy backend. Default: 200-399")
  private String status;

  @SettingOption("/healthCheck/expect/body")
  @Option(
      names = "--health-body",
      paramLabel = "TEXT",
      description = "http: text that the body must contain.")
  private String body;

  @SettingOption("/healthCheck/send")
  @Option(
      names = "--health-send",
      paramLabel = "HEX",
      description = "udp: the datagram to send, in hex.")
  private String send;

  @SettingOption("/healthCheck/expect/hex")
  @Option(
      names = "--health-answer",
      paramLabel = "HEX",
      description = "udp: bytes that the answer must contain, in hex.")
  private String answer;

  @SettingOption("/healthCheck/command")
  @Option(
      names = "--health-command",
      paramLabel = "NAME",
      description = "command: the program, a file in the probes' folder of commands.")
  private String command;

  @SettingOption("/healthCheck/intervalMillis")
  @Option(
      names = "--health-interval",
      paramLabel = "MS",
      description = "Time between probes, 500..3600000. Default: 5000")
  private Integer interval;

  @SettingOption("/healthCheck/timeoutMillis")
  @Option(
      names = "--health-timeout",
      paramLabel = "MS",
      description = "Time to answer, 50..60000, at most the interval. Default: 2000")
  private Integer timeout;

  @SettingOption("/healthCheck/rise")
  @Option(
      names = "--health-rise",
      paramLabel = "N",
      description = "Successes in a row before a backend is up, 1..20. Default: 2")
  private Integer rise;

  @SettingOption("/healthCheck/fall")
  @Option(
      names = "--health-fall",
      paramLabel = "N",
      description = "Failures in a row before a backend is down, 1..20. Default: 3")
  private Integer fall;

  @SettingOption("/healthCheck/jitterPercent")
  @Option(
      names = "--health-jitter",
      paramLabel = "PERCENT",
      description = "How much the interval varies at random, 0..50. Default: 10")
  private Integer jitter;

  @SettingOption("/healthCheck/action/panicPercent")
  @Option(
      names = "--health-panic",
      paramLabel = "PERCENT",
      description = "Ignore health if fewer backends than this are healthy. Default: 50")
  private Integer panic;

  @SettingOption("/healthCheck/action/maxOut")
  @Option(
      names = "--health-max-out",
      paramLabel = "N|P%",
      description = "Most backends that may be out of service at once. Default: 50%%")
  private String maxOut;

  @SettingOption("/healthCheck/action/withdraw")
  @Option(
      names = "--health-withdraw",
      arity = "1",
      paramLabel = "true|false",
      description = "Withdraw the VIPs if no backend is healthy. Default: false")
  private Boolean withdraw;

  @SettingOption("/healthCheck/action/dead")
  @Option(
      names = "--health-dead",
      arity = "1",
      paramLabel = "true|false",
      description =
          "Remove a backend as dead if its ports and its agent are silent. Default: false")
  private Boolean dead;

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
