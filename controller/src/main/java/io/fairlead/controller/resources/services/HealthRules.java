// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import static io.fairlead.controller.resources.services.ServiceRules.inRange;

import io.fairlead.controller.core.image.HealthCheck;
import io.fairlead.controller.core.image.HealthCheck.Action;
import io.fairlead.controller.core.image.HealthCheck.Expect;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.words.HealthKind;
import io.fairlead.controller.resources.plane.Refusal;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a service's health check may be, and what it is by default. */
final class HealthRules {
  /** In a change: no check any more. */
  static final String NONE = "none";

  private static final int TEXT_MAX = 255;
  private static final int BYTES_MAX = 512;
  private static final int INTERVAL_MIN = 500;
  private static final int INTERVAL_MAX = 3_600_000;
  private static final int TIMEOUT_MIN = 50;
  private static final int TIMEOUT_MAX = 60_000;
  private static final int ROUNDS_MAX = 20;
  private static final int JITTER_MAX = 50;

  /** Of any kind. */
  private static final HealthCheck DEFAULT =
      new HealthCheck(
          HealthKind.TCP,
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          5000,
          2000,
          2,
          3,
          10,
          Action.DEFAULT);

  private static final int STATUS_RANGES = 8;
  private static final String STATUSES = "200-399";
  private static final Pattern MAX_OUT =
      Pattern.compile(
          "([1-9][0-9]?|100)%|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}"
              + "|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]");
  private static final Pattern PATH = Pattern.compile("/[!-\"$-~]*");
  private static final Pattern HOST = Pattern.compile("[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?");
  private static final Pattern COMMAND = Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}");
  private static final Pattern HEX = Pattern.compile("([0-9a-f]{2})+");
  private static final Pattern STATUS = Pattern.compile("([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?");

  private HealthRules() {}

  /**
   * With the check that is asked for. Settings that are not asked for stay; those of a new check,
   * or of one of another kind, have their defaults.
   *
   * @param before of the service, empty if it has none or is specified as a whole
   */
  static ServiceConfig with(
      ServiceConfig config, Optional<ServiceSpec.Health> asked, Optional<HealthCheck> before) {
    Optional<HealthCheck> check = asked.isPresent() ? check(asked.get(), before) : before;
    check.ifPresent(some -> checkEndpoints(some, config));
    return config.toBuilder().healthCheck(check).build();
  }

  private static void checkEndpoints(HealthCheck check, ServiceConfig config) {
    int endpoints = check.endpoints(config);
    if (endpoints == 0) {
      throw Refusal.invalid(
          "healthCheck.kind",
          check.kind(),
          "a kind for one of the service's ports, or healthCheck.port");
    }
    if (endpoints > HealthCheck.ENDPOINTS_MAX) {
      throw Refusal.invalid(
          "healthCheck.port",
          "none",
          "a port, as the service has %d VIPs times ports; without one at most %d"
              .formatted(endpoints, HealthCheck.ENDPOINTS_MAX));
    }
  }

  private static Optional<HealthCheck> check(
      ServiceSpec.Health asked, Optional<HealthCheck> present) {
    if (asked.kind().filter(NONE::equals).isPresent()) {
      return Optional.empty();
    }
    HealthKind kind =
        asked
            .kind()
            .map(word -> ServiceRules.word("healthCheck.kind", word, HealthKind.class))
            .or(() -> present.map(HealthCheck::kind))
            .orElseThrow(
                () ->
                    Refusal.invalid(
                        "healthCheck.kind", null, "tcp, http, https, udp or command, to begin"));
    Optional<HealthCheck> before = present.filter(check -> check.kind() == kind);
    HealthCheck others = before.orElse(DEFAULT);
    int interval =
        inRange(
            "healthCheck.intervalMillis",
            asked.intervalMillis().orElse(others.intervalMillis()),
            INTERVAL_MIN,
            INTERVAL_MAX);
    int most = Math.min(interval, TIMEOUT_MAX);
    int usual =
        before.isPresent() ? others.timeoutMillis() : Math.min(most, others.timeoutMillis());
    int jitter = asked.jitterPercent().orElse(others.jitterPercent());
    return Optional.of(
        new HealthCheck(
            kind,
            port(asked.port().or(others::port)),
            path(kind, asked.path(), others.path()),
            host(kind, asked.host(), others.host()),
            verify(kind, asked.verify(), others.verify()),
            send(kind, asked.send(), others.send()),
            command(kind, asked.command(), others.command()),
            expect(kind, asked.expect(), others.expect()),
            interval,
            inRange(
                "healthCheck.timeoutMillis",
                asked.timeoutMillis().orElse(usual),
                TIMEOUT_MIN,
                most),
            inRange("healthCheck.rise", asked.rise().orElse(others.rise()), 1, ROUNDS_MAX),
            inRange("healthCheck.fall", asked.fall().orElse(others.fall()), 1, ROUNDS_MAX),
            inRange("healthCheck.jitterPercent", jitter, 0, JITTER_MAX),
            action(asked.action(), present.map(HealthCheck::action))));
  }

  /** Stays with another kind. */
  private static Action action(Optional<ServiceSpec.HealthAction> asked, Optional<Action> before) {
    boolean isWithdrawing =
        asked
            .flatMap(ServiceSpec.HealthAction::withdraw)
            .orElse(before.filter(Action::withdraw).isPresent());
    Action others =
        before
            .filter(action -> action.withdraw() == isWithdrawing)
            .orElse(isWithdrawing ? Action.WITHDRAWING : Action.DEFAULT);
    int panic =
        inRange(
            "healthCheck.action.panicPercent",
            asked.flatMap(ServiceSpec.HealthAction::panicPercent).orElse(others.panicPercent()),
            0,
            100);
    String most = asked.flatMap(ServiceSpec.HealthAction::maxOut).orElse(others.maxOut());
    if (!MAX_OUT.matcher(most).matches()) {
      throw Refusal.invalid(
          "healthCheck.action.maxOut", most, "1..65535, or a part of all from 1% to 100%");
    }
    if (isWithdrawing && (panic > 0 || !most.equals(Action.WITHDRAWING.maxOut()))) {
      throw Refusal.invalid(
          "healthCheck.action.withdraw",
          true,
          "false with panicPercent %d and maxOut %s; with true they are 0 and 100%%"
              .formatted(panic, most));
    }
    Optional<Boolean> dead =
        asked.flatMap(ServiceSpec.HealthAction::dead).or(() -> before.flatMap(Action::dead));
    return new Action(panic, most, isWithdrawing, dead);
  }

  /** 0 takes it away. */
  private static Optional<Integer> port(Optional<Integer> port) {
    return port.filter(number -> number != 0)
        .map(number -> inRange("healthCheck.port", number, 1, 65_535));
  }

  private static Optional<String> path(
      HealthKind kind, Optional<String> asked, Optional<String> before) {
    if (!kind.isHttp()) {
      return absent(kind, "path", asked);
    }
    String path = asked.or(() -> before).orElse("/");
    if (!PATH.matcher(path).matches() || path.length() > TEXT_MAX) {
      throw Refusal.invalid(
          "healthCheck.path", path, "a path from / on, at most 255 visible characters, no #");
    }
    return Optional.of(path);
  }

  private static Optional<String> host(
      HealthKind kind, Optional<String> asked, Optional<String> before) {
    if (!kind.isHttp()) {
      return absent(kind, "host", asked);
    }
    Optional<String> host = asked.or(() -> before).filter(name -> !name.isEmpty());
    host.ifPresent(
        name -> {
          if (!HOST.matcher(name).matches() || name.length() > TEXT_MAX) {
            throw Refusal.invalid(
                "healthCheck.host", name, "a host name of letters, digits, '-' and '.'");
          }
        });
    return host;
  }

  private static Optional<Boolean> verify(
      HealthKind kind, Optional<Boolean> asked, Optional<Boolean> before) {
    return kind == HealthKind.HTTPS
        ? Optional.of(asked.or(() -> before).orElse(false))
        : absent(kind, "verify", asked);
  }

  private static Optional<String> send(
      HealthKind kind, Optional<String> asked, Optional<String> before) {
    if (kind != HealthKind.UDP) {
      return absent(kind, "send", asked);
    }
    return Optional.of(hex("healthCheck.send", asked.or(() -> before).orElse(null)));
  }

  private static Optional<String> command(
      HealthKind kind, Optional<String> asked, Optional<String> before) {
    if (kind != HealthKind.COMMAND) {
      return absent(kind, "command", asked);
    }
    String command = asked.or(() -> before).orElse(null);
    if (command == null || !COMMAND.matcher(command).matches()) {
      throw Refusal.invalid(
          "healthCheck.command",
          command,
          "the name of a file in the folder of commands: letters, digits, '-', '_' and '.', at"
              + " most 64");
    }
    return Optional.of(command);
  }

  private static Optional<Expect> expect(
      HealthKind kind, Optional<ServiceSpec.Expect> asked, Optional<Expect> before) {
    Optional<String> status = asked.flatMap(ServiceSpec.Expect::status);
    Optional<String> body = asked.flatMap(ServiceSpec.Expect::body);
    Optional<String> hex = asked.flatMap(ServiceSpec.Expect::hex);
    if (kind.isHttp()) {
      absent(kind, "expect.hex", hex);
      return Optional.of(
          new Expect(
              Optional.of(
                  statuses(status.or(() -> before.flatMap(Expect::status)).orElse(STATUSES))),
              body.or(() -> before.flatMap(Expect::body))
                  .filter(text -> !text.isEmpty())
                  .map(HealthRules::body),
              Optional.empty()));
    }
    absent(kind, "expect.status", status);
    absent(kind, "expect.body", body);
    if (kind != HealthKind.UDP) {
      absent(kind, "expect.hex", hex);
      return Optional.empty();
    }
    return hex.or(() -> before.flatMap(Expect::hex))
        .filter(bytes -> !bytes.isEmpty())
        .map(bytes -> hex("healthCheck.expect.hex", bytes))
        .map(bytes -> new Expect(Optional.empty(), Optional.empty(), Optional.of(bytes)));
  }

  private static String statuses(String list) {
    String[] parts = list.split(",", -1);
    boolean isRight = parts.length <= STATUS_RANGES;
    for (String part : parts) {
      Matcher range = STATUS.matcher(part);
      isRight &=
          range.matches()
              && (range.group(2) == null || range.group(1).compareTo(range.group(2)) <= 0);
    }
    if (!isRight) {
      throw Refusal.invalid(
          "healthCheck.expect.status", list, "up to 8 of 100..599, such as 200-299,401");
    }
    return list;
  }

  private static String body(String text) {
    boolean isPlain = text.chars().noneMatch(c -> c < ' ' || c == 0x7f);
    if (!isPlain || text.getBytes(StandardCharsets.UTF_8).length > TEXT_MAX) {
      throw Refusal.invalid(
          "healthCheck.expect.body", text, "text of at most 255 bytes in one line");
    }
    return text;
  }

  private static String hex(String field, String digits) {
    if (digits == null || !HEX.matcher(digits).matches() || digits.length() > 2 * BYTES_MAX) {
      throw Refusal.invalid(field, digits, "1..512 bytes as hex digits in lower case");
    }
    return digits;
  }

  /** Refuses a setting that the kind does not have. */
  private static <T> Optional<T> absent(HealthKind kind, String field, Optional<T> asked) {
    asked.ifPresent(
        value -> {
          throw Refusal.invalid(
              "healthCheck." + field, value, "no such setting with kind " + kind.word());
        });
    return Optional.empty();
  }
}
